"""The WebSocket to the server: opened with the key, closed without ceremony, every write with a time limit."""

import asyncio
import random
from collections import deque
from dataclasses import dataclass
from urllib.parse import urlsplit
from uuid import UUID

import msgspec
from websockets.asyncio.client import ClientConnection
from websockets.asyncio.client import connect as _connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI

from runners.protocol import messages
from runners.protocol.agent_signals import Garbled, Lost
from runners.protocol.errors import Undecodable

BACKOFF_SECONDS, MAX_BACKOFF_SECONDS = 5.0, 60.0
MAX_CONNECTS_AN_HOUR = 256
WRITE_SECONDS = 60.0
_OPEN_SECONDS = 20.0
CLOSE_SECONDS = 2.0
_PING_SECONDS, _PONG_SECONDS = 20.0, 60.0  # a benchmark may keep this machine busy: one late pong means nothing
_MAX_FRAME_BYTES = 16 << 20


class Unreachable(Exception):
    """No channel. `refused_key` when the server said that the key is wrong; `retry_after` seconds when it asked for them."""

    def __init__(self, text: str, *, refused_key: bool = False, retry_after: float = 0.0) -> None:
        super().__init__(text)
        self.refused_key = refused_key
        self.retry_after = retry_after


class _Connect(_connect):
    def process_redirect(self, exc: Exception) -> Exception | str:
        """Never: the key would travel along."""
        return exc


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the channel is and who asks. The key never appears in a text."""

    host: str
    runner: str
    key: str

    @property
    def url(self) -> str:
        parts = urlsplit(self.host)
        scheme = "wss" if parts.scheme == "https" else "ws"
        return f"{scheme}://{parts.netloc}{parts.path.rstrip('/')}/v0/runners/{self.runner}/channel"

    def __repr__(self) -> str:
        return f"Endpoint({self.url})"

    async def open(self, agent: str) -> ClientConnection:
        try:
            return await _Connect(
                self.url, additional_headers={"Authorization": f"Bearer {self.key}"}, user_agent_header=agent, compression=None,
                open_timeout=_OPEN_SECONDS, close_timeout=CLOSE_SECONDS, ping_interval=_PING_SECONDS, ping_timeout=_PONG_SECONDS,
                max_size=_MAX_FRAME_BYTES,
            )  # fmt: skip
        except InvalidStatus as error:
            raise self._refused(error) from None
        except (OSError, TimeoutError, InvalidHandshake, InvalidURI, EOFError) as error:
            raise Unreachable(f"cannot reach {self.url}: {str(error) or type(error).__name__}") from None

    def _refused(self, error: InvalidStatus) -> Unreachable:
        status = error.response.status_code
        if status in {401, 403}:
            text = (
                f"{self.url} refuses this runner ({status}): check --key and --runner, or whether the runner is archived or its key rotated"
            )
            return Unreachable(text, refused_key=True)
        after = error.response.headers.get("Retry-After", "")
        return Unreachable(f"{self.url} answers {status} instead of a channel", retry_after=float(after) if after.isdigit() else 0.0)


async def send(connection: ClientConnection, text: str) -> None:
    """Writes one frame. ConnectionClosed or TimeoutError when it does not get through."""
    async with asyncio.timeout(WRITE_SECONDS):
        await connection.send(text)


def read(frame: str) -> messages.ServerMessage | Garbled:
    """A text frame as an input of the session."""
    try:
        return messages.decode_server(frame)
    except Undecodable as error:
        return Garbled(f"the server sent something unreadable: {error.reason}", _job_of(frame))


class _Named(msgspec.Struct, tag_field="event", tag="job"):
    uuid: UUID


def _job_of(frame: str) -> UUID | None:
    """The UUID of a `job` frame whose content is beyond us, so that it can be told what is wrong with it."""
    try:
        return msgspec.json.decode(frame, type=_Named).uuid
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None


def lost(error: ConnectionClosed) -> Lost:
    """How the other side ended it. Without a close frame it just dropped."""
    return Lost(error.rcvd.code, error.rcvd.reason) if error.rcvd else Lost()


class Pace:
    """Pauses between connects: 5 s doubling to 60 s with full jitter, and never more than 256 connects an hour."""

    def __init__(self, first: float = BACKOFF_SECONDS, rng: random.Random | None = None) -> None:
        self._first = first
        self._rng = rng or random.Random()
        self._connects: deque[float] = deque()

    def pause(self, failures: int | None, now: float, at_least: float = 0.0) -> float:
        """Seconds to wait before the next connect, which is taken as made then. `failures` None: at once."""
        cap = 0.0 if failures is None else min(MAX_BACKOFF_SECONDS, self._first * 2 ** min(failures, 16))
        pause = max(self._rng.uniform(0, cap), at_least)
        while self._connects and self._connects[0] <= now - 3600:
            self._connects.popleft()
        if len(self._connects) >= MAX_CONNECTS_AN_HOUR:
            pause = max(pause, self._connects[-MAX_CONNECTS_AN_HOUR] + 3600 - now)
        self._connects.append(now + pause)
        return pause
