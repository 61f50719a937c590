"""Django's PostgreSQL backend, whose pool looks before it hands a connection out (docs/decisions/outages.md).

After a restart of the database every connection of the pool is dead, and each would fail one request. Django's ``CONN_HEALTH_CHECKS`` asks the server each
time, which costs a round trip. A server that has gone says so: an idle connection on which something has arrived is asked, any other is not.
"""

from __future__ import annotations

import select
from typing import Any

from django.db.backends.postgresql import base
from psycopg import OperationalError
from psycopg_pool import ConnectionPool


def arrived(connection: Any) -> bool:
    """Is there anything to read? On an idle connection that is its end, or a notice. Costs no round trip."""
    poll = select.poll()
    poll.register(connection.pgconn.socket, select.POLLIN)
    return bool(poll.poll(0))


class DatabaseWrapper(base.DatabaseWrapper):
    @property
    def pool(self) -> Any:
        pool = super().pool
        if pool is not None and pool._check is None:
            pool._check = lambda connection: self._look(pool, connection)
        return pool

    @staticmethod
    def _look(pool: Any, connection: Any) -> None:
        """Raises psycopg's OperationalError for one that is dead; the pool makes another. Where one is, there are more: they are replaced at once."""
        if connection.closed:
            raise OperationalError("closed")
        if not arrived(connection):
            return
        try:
            ConnectionPool.check_connection(connection)
        except OperationalError:
            pool.check()
            raise
