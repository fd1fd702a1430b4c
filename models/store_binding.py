"""The store that a connection is bound to, and the message that binds it together with a statement.

Row-level security shows the rows of the store in the session's setting `vitrine.tenant`. `StoreBinding` is what this process knows of it:

    state      store   pending   meaning
    BOUND      s       None      the server has confirmed that the setting is s (`NO_STORE` at the start)
    REQUESTED  s|None  t         t is set with the next statement; the setting is still s
    UNKNOWN    None    None      a binding was sent and not confirmed: cancelled, timed out, rolled back

    event                                      from                     to
    request(t)  acquired for one statement     BOUND(s≠t), UNKNOWN      REQUESTED(t)
    begin()     binding sent                   any                      UNKNOWN
    confirm(t)  its response read              UNKNOWN                  BOUND(t)
    withdraw()  released without a statement   REQUESTED                BOUND(s) or UNKNOWN, as before the request
    forget()    reset, with unread responses   any                      UNKNOWN

Two rules make it safe. `begin` comes before the first byte, so that whatever happens then, the store is unknown rather than wrong. And a
binding takes effect with its statement or not at all: both precede one Sync, which makes them one implicit transaction. UNKNOWN is never
BOUND to anything, so the next acquisition binds again, whichever store it is for.

How a binding reaches the server (`models.connections`):

    separate    as a statement of its own, with a round trip: the first statement of a text, transactions, `pipelines_binding=False`
    pipelined   Bind and Execute written ahead of the prepared statement's, whose Sync ends both: no round trip

If a pipelined binding was written and its statement was not (an argument that can't be encoded), its Sync is missing: the connection is
terminated, because the next message on it would complete the binding. `tests/models/test_store_binding.py` runs generated interleavings of
tasks, cancellations, time-outs and errors against both, and compares what each connection believes with what its session holds.
"""

from __future__ import annotations

import struct

NO_STORE = 0

BIND = "select set_config('vitrine.tenant', $1, false)"
# The same without a result row: asyncpg reads the rows of the statement that follows as if this one weren't there.
BIND_PIPELINED = "select 1 where set_config('vitrine.tenant', $1, false) is null"


class StoreBinding:
    """What is known of a session's store; the states and transitions are those of the module."""

    __slots__ = ("pending", "store")

    def __init__(self) -> None:
        self.store: int | None = NO_STORE
        self.pending: int | None = None

    def request(self, store: int) -> None:
        """Bind the store with the next statement."""
        self.pending = store

    def begin(self) -> None:
        """Note that a binding is about to be sent."""
        self.store = self.pending = None

    def confirm(self, store: int) -> None:
        """Note that the server has responded to the binding."""
        self.store = store

    def withdraw(self) -> None:
        """Cancel a request that no statement followed."""
        self.pending = None

    def forget(self) -> None:
        """Note that the session's store is unknown."""
        self.begin()


def setting_value(store: int) -> str:
    """Return the value of the setting for a store; empty shows no rows."""
    return str(store) if store else ""


def binding_message(prepared_name: bytes, store: int) -> bytes:
    """Return Bind and Execute of the prepared `BIND_PIPELINED`, without Sync (PostgreSQL documentation, section 54.7).

    The unnamed portal, one parameter in text format, no result formats, no limit of rows.
    """
    value = setting_value(store).encode()
    parameters = struct.pack(f"!hhi{len(value)}sh", 0, 1, len(value), value, 0)
    return _message(b"B", b"\0%s\0%s" % (prepared_name, parameters)) + _message(b"E", b"\0" + struct.pack("!i", 0))


def _message(kind: bytes, content: bytes) -> bytes:
    return kind + struct.pack("!i", len(content) + 4) + content
