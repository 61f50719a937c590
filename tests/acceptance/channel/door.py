"""A TCP port in front of a service, for tests that cut the service off."""

from __future__ import annotations

import contextlib
import select
import socket
import threading

from bencher.demo.processes import HOST


class Trap:
    """Waits for the connection whose client sends ``markers`` in this order; from then on that client hears nothing more."""

    def __init__(self, *markers: bytes) -> None:
        self.markers = markers
        self.caught = threading.Event()


class Door:
    """Shut, it cuts what goes through it and lets nobody in, as a service that has died. The port stays its own all the while."""

    def __init__(self, host: str, port: int) -> None:
        self.target = (host, port)
        self.trap: Trap | None = None
        self._lock = threading.Lock()
        self._passing = set[socket.socket]()
        self._socket = self._bound(0)
        self.port: int = self._socket.getsockname()[1]
        self._open = False
        self.open()

    @staticmethod
    def _bound(port: int) -> socket.socket:
        """Bound and not listening: refuses, and nobody else can get the port."""
        made = socket.socket()
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((HOST, port))
        return made

    def open(self) -> None:
        self._open = True
        self._socket.listen(512)
        threading.Thread(target=self._accept, args=(self._socket,), daemon=True).start()

    def shut(self) -> None:
        with self._lock:
            self._open = False
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            self._socket.close()
            self._socket = self._bound(self.port)
            for one in self._passing:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """For good."""
        self.shut()
        self._socket.close()

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = listener.accept()
                threading.Thread(target=self._serve, args=(near,), daemon=True).start()

    def _serve(self, near: socket.socket) -> None:
        with near, contextlib.suppress(OSError), socket.create_connection(self.target) as far:
            with self._lock:
                if not self._open:
                    return
                self._passing |= {near, far}
            try:
                self._pump(near, far)
            finally:
                with self._lock:
                    self._passing -= {near, far}

    def _pump(self, near: socket.socket, far: socket.socket) -> None:
        seen, sources, laid = 0, [near, far], None
        while True:
            for source in select.select(sources, [], [])[0]:
                data = source.recv(65536)
                if not data:
                    return
                trap = self.trap
                if trap is not laid:  # what was said before a trap was laid does not count for it
                    seen, laid = 0, trap
                if source is near and trap is not None:
                    while seen < len(trap.markers) and trap.markers[seen] in data:
                        seen += 1
                    if seen == len(trap.markers):
                        self.trap, sources = None, [near]
                (far if source is near else near).sendall(data)
                if sources == [near] and trap is not None:
                    trap.caught.set()
