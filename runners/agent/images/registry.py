"""The registry's side of a pull (OCI distribution spec 1.1, "Pull"): plain GETs with the job's token, which lives in memory only."""

import random
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx

from runners.agent.control import Control
from runners.agent.errors import ImageError, RegistryError
from runners.agent.images.manifests import ACCEPT
from runners.agent.images.reference import Reference

USER_AGENT = "bencher-runner/1.0"
MAX_DOCUMENT_BYTES = 4 * 1024 * 1024
_TIMEOUT = httpx.Timeout(60, connect=10)
_TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})
ATTEMPTS, PATIENT_ATTEMPTS = 4, 18
"""How often a request is tried: some seconds for a person who waits; about a minute for a job, in which a server may be restarted."""

_MAX_PAUSE = 5.0
_CHALLENGE = re.compile(r'(\w+)="([^"]*)"')


class _Transient(Exception):
    """Worth another try after `delay` seconds."""

    def __init__(self, error: RegistryError, delay: float) -> None:
        super().__init__(str(error))
        self.error = error
        self.delay = delay


@dataclass(slots=True)
class Registry:
    """GETs in one repository. Transient answers are tried again; a download that broke off continues where it was."""

    reference: Reference
    token: str | None
    control: Control
    transport: httpx.BaseTransport | None = None
    attempts: int = ATTEMPTS
    _client: httpx.Client = field(init=False)

    def __post_init__(self) -> None:
        self._client = httpx.Client(
            base_url=self.reference.base,
            headers={"User-Agent": USER_AGENT, "Accept-Encoding": "identity"},
            timeout=_TIMEOUT,
            follow_redirects=True,
            transport=self.transport,
        )

    def close(self) -> None:
        self._client.close()

    def manifest(self, target: str) -> tuple[bytes, str]:
        """Body and media type of the manifest or index that `target`, a tag or a digest, names. The digest is not verified here."""
        return self._document(f"manifests/{target}", ACCEPT)

    def small_blob(self, digest: str) -> bytes:
        """A blob of at most 4 MiB. The digest is not verified here."""
        return self._document(f"blobs/{digest}", "*/*")[0]

    def _document(self, path: str, accept: str) -> tuple[bytes, str]:
        for attempt in range(self.attempts):
            try:
                with self._get(path, {"Accept": accept}) as response:
                    body = bytearray()
                    for chunk in response.iter_raw():
                        self.control.check()
                        body += chunk
                        if len(body) > MAX_DOCUMENT_BYTES:
                            raise ImageError(f"{path} is larger than {MAX_DOCUMENT_BYTES} bytes")
                    return bytes(body), response.headers.get("Content-Type", "")
            except _Transient as problem:
                self._pause(problem, attempt)
        raise AssertionError("unreachable")

    def blob(self, digest: str) -> Iterator[bytes]:
        """The bytes of a blob, in order, each once."""
        received, attempt = 0, 0
        while True:
            headers = {"Accept": "*/*"} | ({"Range": f"bytes={received}-"} if received else {})
            try:
                with self._get(f"blobs/{digest}", headers) as response:
                    skip = received if response.status_code == 200 else 0
                    for chunk in response.iter_raw():
                        self.control.check()
                        fresh = chunk[skip:]
                        skip = max(0, skip - len(chunk))
                        if fresh:
                            received += len(fresh)
                            attempt = 0
                            yield fresh
                return
            except _Transient as problem:
                self._pause(problem, attempt)
                attempt += 1

    @contextmanager
    def _get(self, path: str, headers: dict[str, str]) -> Iterator[httpx.Response]:
        url = f"/v2/{self.reference.repository}/{path}"
        try:
            with self._client.stream("GET", url, headers=headers | self._authorization()) as response:
                if not (response.status_code == 401 and self._answer_challenge(response)):
                    self._check(response, path)
                    yield response
                    return
            with self._client.stream("GET", url, headers=headers | self._authorization()) as response:
                self._check(response, path)
                yield response
        except httpx.InvalidURL as error:
            raise RegistryError(f"{self.reference}: {error}") from None
        except httpx.HTTPError as error:
            raise _Transient(RegistryError(f"{self.reference}: {type(error).__name__}: {error}"), 0) from None

    def _authorization(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    def _check(self, response: httpx.Response, path: str) -> None:
        if response.status_code in {200, 206}:
            return
        reason = httpx.codes.get_reason_phrase(response.status_code)
        error = RegistryError(
            f"{self.reference}: {path.partition('/')[0]} request failed with status {response.status_code} {reason}".strip()
        )
        if response.status_code in _TRANSIENT:
            raise _Transient(error, _retry_after(response))
        raise error

    def _answer_challenge(self, response: httpx.Response) -> bool:
        """Fetches an anonymous token, as public registries want it. Never when the caller brought a token of its own."""
        challenge = response.headers.get("WWW-Authenticate", "")
        fields = dict(_CHALLENGE.findall(challenge))
        realm = fields.pop("realm", None)
        if self.token or not challenge.lower().startswith("bearer") or not realm:
            return False
        fields.setdefault("scope", f"repository:{self.reference.repository}:pull")
        answer = self._client.get(realm, params=fields)
        if answer.status_code != 200:
            return False
        body = answer.json()
        self.token = body.get("token") or body.get("access_token")
        return bool(self.token)

    def _pause(self, problem: _Transient, attempt: int) -> None:
        """Waits before the next try, or gives up. A stop request ends the wait within a tenth of a second."""
        if attempt + 1 >= self.attempts:
            raise problem.error from None
        cap = min(_MAX_PAUSE, 0.5 * 2**attempt)
        until = time.monotonic() + max(problem.delay, random.uniform(cap / 2, cap))
        while (left := until - time.monotonic()) > 0:
            self.control.check()
            time.sleep(min(left, 0.1))


def _retry_after(response: httpx.Response) -> float:
    text = response.headers.get("Retry-After", "")
    return min(float(text), 15.0) if text.isdigit() else 0.0
