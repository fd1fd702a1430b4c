"""Log the failures of workers that try again: while the database is away those of all workers of the process together, seldom."""

from __future__ import annotations

from types import TracebackType

from kernel import logging
from kernel.errors import TransactionConflict, Unavailable
from kernel.outages import Outage

_outage = Outage()


class logged_failures:  # noqa: N801  # it is used as a function; mypy doesn't see that one of `contextmanager` suppresses errors
    """Log an error of the block under a name, and go on after it: `with logged_failures("mails delayed"):`.

    Without the database each worker fails every second: of these errors the first is logged, others at growing intervals, and the end.
    """

    def __init__(self, name: str, /, **fields: object) -> None:
        self._name = name
        self._fields = fields

    def __enter__(self) -> None:
        """Begin the block."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> bool:
        """Log what ended the block."""
        if error is None:
            if (seconds := _outage.end()) is not None:
                logging.event("the database is available again", seconds=seconds)
        elif not isinstance(error, Exception):
            return False
        elif not _is_outage(error) or _outage.is_due():
            logging.failure(self._name, error, **self._fields)
        return True


def _is_outage(error: Exception) -> bool:
    return isinstance(error, Unavailable) and not isinstance(error, TransactionConflict)
