"""The outside of the server as a client sees it: REST and an image push (rest.md, registry.md 1.1 and 1.3)."""

from __future__ import annotations

from typing import Any
from urllib.parse import urljoin

import httpx

from bencher.demo.image import MANIFEST_TYPE, Image, digest


class Refused(Exception):
    """The server did not do what it was asked; the text says what and why."""


class Client:
    """One user of a server, by user key."""

    def __init__(self, url: str, key: str, email: str) -> None:
        self.url, self.key, self.email = url, key, email
        self._http = httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=30)

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """The JSON answer of a REST call. Raises :class:`Refused` with the server's message."""
        response = self._http.request(method, path, json=body)
        return _checked(response).json()

    def push(self, repository: str, tag: str, image: Image) -> None:
        """Push an image as any registry client does: token, blobs, manifest."""
        scope = f"repository:{repository}:pull,push"
        with httpx.Client(base_url=self.url, timeout=60) as http:
            answer = _checked(http.get("/v0/auth/oci/token", params={"scope": scope}, auth=(self.email, self.key)))
            http.headers["Authorization"] = f"Bearer {answer.json()['token']}"
            for blob in (image.config, image.layer):
                started = _checked(http.post(f"/v2/{repository}/blobs/uploads/"))
                place = httpx.URL(urljoin(str(started.url), started.headers["location"])).copy_merge_params({"digest": digest(blob)})
                _checked(http.put(place, content=blob, headers={"Content-Type": "application/octet-stream"}))
            _checked(http.put(f"/v2/{repository}/manifests/{tag}", content=image.manifest, headers={"Content-Type": MANIFEST_TYPE}))

    def close(self) -> None:
        self._http.close()


def _checked(response: httpx.Response) -> httpx.Response:
    if response.is_success:
        return response
    raise Refused(f"{response.request.method} {response.request.url.path}: {response.status_code} {response.text[:500]}")
