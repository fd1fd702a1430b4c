"""Run `vitrine` with the store as a setting of the session, set when a connection changes stores: to compare with (`bench.binding`)."""

from __future__ import annotations

import sys
from typing import Any

from models.connection import pool
from models.connection.binding import StoreBinding
from models.connection.connections import StoreConnection
from server import cli


class _SessionBinding(StoreBinding):
    def __init__(self) -> None:
        super().__init__({})
        self.sql = self.sql.replace(", true)", ", false)")


class _SessionBoundConnection(StoreConnection):
    __slots__ = ("_bound",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._bound: int | None = None

    def _send_binding(self) -> None:
        if self.store != self._bound:
            self._bound = self.store
            super()._send_binding()


if __name__ == "__main__":
    vars(pool).update(StoreConnection=_SessionBoundConnection, StoreBinding=lambda _: _SessionBinding())
    sys.exit(cli.main())
