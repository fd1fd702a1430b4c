"""Payments that are created here, through the gateway sandbox: from the request to the paid order."""

from __future__ import annotations

import pytest

from domain.payments import creation
from domain.payments.requests import parse_input
from tests.harness.payments import add_sandbox_methods, enabled_sandbox


@pytest.fixture(autouse=True)
def sandbox():
    with enabled_sandbox():
        yield


@pytest.fixture
async def methods(kit):
    return await add_sandbox_methods(kit.scope)


async def create(kit, order, kind="PIX", scope=None, **values):
    return await creation.create_payment(scope or kit.scope, order.public_id, None, parse_input(kind, values))


async def test_a_pix_payment_waits_with_its_code(kit, methods):
    order = await kit.order((await kit.product(), 1), payment_method=methods["PIX"])
    payment = await kit.record("payments", await create(kit, order))
    assert (payment["status"], payment["amount_cents"], payment["gateway"]) == ("PENDING", 1_000, "sandbox")
    assert '"code": "00020101021226' in payment["pix"]
