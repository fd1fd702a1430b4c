"""A store that takes payments through the gateway sandbox."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from domain.payments.methods import PAYMENT_METHOD_RECORDS
from domain.payments.sandbox import gateway as sandbox
from kernel.scope import Scope

KINDS = ("PIX", "BOLETO", "CARD")


@contextmanager
def enabled_sandbox() -> Iterator[None]:
    """Let the stores of this process use the sandbox."""
    sandbox.configure(True)
    try:
        yield
    finally:
        sandbox.configure(False)


async def add_sandbox_methods(scope: Scope, **fields: object) -> dict[str, int]:
    """Add a payment method of the sandbox for each kind, and return their ids by kind."""
    return {
        kind: await PAYMENT_METHOD_RECORDS.create(
            scope, {"name": kind.title(), "processor": "sandbox", "kind": kind, **fields}
        )
        for kind in KINDS
    }
