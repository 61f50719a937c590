"""What a benchmark prints, kept up to a limit: its beginning and its end, with a visible marker for what is missing between."""

from collections import deque


def marker(count: int) -> str:
    return f"…[truncated {count} bytes]…"


class Capture:
    """At most `limit` bytes of memory, however much is fed."""

    def __init__(self, limit: int) -> None:
        self._head_limit = limit - limit // 2
        self._tail_limit = limit // 2
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self.dropped = 0

    def feed(self, data: bytes) -> None:
        room = self._head_limit - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if data:
            self._tail.append(data)
            self._tail_size += len(data)
            self._shrink()

    def _shrink(self) -> None:
        surplus = self._tail_size - self._tail_limit
        while surplus > 0:
            first = self._tail.popleft()
            cut = min(surplus, len(first))
            if cut < len(first):
                self._tail.appendleft(first[cut:])
            self._tail_size -= cut
            self.dropped += cut
            surplus -= cut

    def text(self) -> str:
        """Invalid UTF-8 becomes U+FFFD; the marker stands where bytes are missing."""
        head, tail = bytes(self._head), b"".join(self._tail)
        if not self.dropped:
            return (head + tail).decode("utf-8", "replace")
        return f"{head.decode('utf-8', 'replace')}{marker(self.dropped)}{tail.decode('utf-8', 'replace')}"
