"""What connections, threads and memory are divided by: the store, the client address of a request, and its caller."""

from __future__ import annotations

from collections.abc import Sequence

from kernel.ip_addresses import rate_limit_key
from kernel.scope import Scope

BACKGROUND = "background"
"""The share of what no request asks for: commands and workers, which limit themselves."""

NO_STORE = 0
"""The store of what is done in no scope, which has no share of its own."""


def most_for_store(count: int) -> int:
    """Return how many of a process's connections or threads one store may have at a time: half of them, and always one."""
    return max(1, count // 2)


def shares_of(scope: Scope | None) -> Sequence[str]:
    """Return what a caller's work counts for: its address and, if it has a credential of its own, the user or app.

    A storefront key is that of all visitors: what it does counts for their addresses.
    """
    if scope is None or not scope.client_ip:
        return (BACKGROUND,)
    address, actor = shares_of_address(scope.client_ip), scope.actor
    if actor.user_id is None and actor.app_id is None:
        return address
    # A shopper's credential follows that of the key.
    return (*address, f"{scope.store.id}:{actor.credential.rpartition('/')[2]}")


def shares_of_address(client_ip: str) -> Sequence[str]:
    """Return what the work of a caller counts for who isn't known."""
    return (f"ip:{rate_limit_key(client_ip)}",)
