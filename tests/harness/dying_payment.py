"""A program that creates a payment, or refunds one, and kills itself at a point of it: `main` is run in a process of its own."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from auth.configuration import configure
from domain.idempotency import KeyClaim, active_claim
from domain.payments import creation, refunds, settlement
from domain.payments.requests import parse_input
from kernel.ids import uuid7
from kernel.scope import Store
from models import audit
from models.connection import database
from tests.harness.payment_gateway import GatewayDouble, register
from tests.harness.scopes import system_scope

POINTS = ("before the first commit", "before the call", "during the call", "after the answer", "before the last commit")
CODE = "from tests.harness.dying_payment import main; main()"
CREDENTIAL = "key:1"


def die(*_: Any) -> Any:
    """End as by kill -9."""
    os.kill(os.getpid(), signal.SIGKILL)


async def _die(*_: Any) -> Any:
    die()


def claim_of(key: str) -> KeyClaim:
    """Return the claim of a request with an Idempotency-Key."""
    return KeyClaim(CREDENTIAL, key, uuid7())


def arrange(point: str) -> None:
    """Let the program die at the point, or `after <n> ms`, when it may have ended."""
    gateway = register(GatewayDouble())
    if point.startswith("after ") and point.endswith(" ms"):
        timer = threading.Timer(int(point.split()[1]) / 1_000, die)
        timer.daemon = True
        timer.start()
        return
    replaced: Mapping[str, Sequence[tuple[Any, str, Any]]] = {
        "before the first commit": [(creation, "_insert", _after(creation._insert)), (audit, "record", _die)],
        "before the call": [(gateway, "before", _die), (gateway, "refund", _die)],
        "during the call": [(gateway, "answer", _die)],
        "after the answer": [(settlement, "settle", _die)],
        "before the last commit": [(settlement, "_settle", _in_transaction)],
    }
    for where, name, replacement in replaced[point]:
        setattr(where, name, replacement)


def _after(function: Any) -> Any:
    async def run(*arguments: Any) -> Any:
        await function(*arguments)
        die()

    return run


_settle = settlement._settle


async def _in_transaction(scope: Any, *arguments: Any) -> None:
    async with database.transaction(scope):
        await _settle(scope, *arguments)
        die()


async def _run(url: str, store: Store, subject: str, action: str, point: str, key: str) -> None:
    configure(b"the secret of a process that ends, of 32 bytes")
    await database.connect(database.DatabaseSettings(url))
    arrange(point)
    scope = system_scope(store)
    with active_claim(claim_of(key)):
        if action == "refund":
            await refunds.refund_payment(scope, subject, 500)
        else:
            token = {"card_token": "tok_approved"} if action == "CARD" else {}
            await creation.create_payment(scope, subject, None, parse_input(action, token))


def main() -> None:
    """Run with the database's URL, the store's number and id, the order or payment, what is done, the point, and an Idempotency-Key."""
    url, number, public_id, subject, action, point, key = sys.argv[1:]
    asyncio.run(_run(url, Store(int(number), UUID(public_id), "Test store"), subject, action, point, key))
