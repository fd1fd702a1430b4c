"""To a vendor other vendors' records, and to a shopper other people's payments, are answered as ids that exist nowhere."""

from __future__ import annotations

from typing import Any

import pytest

from models.tables.options import Option
from models.tables.payments import Payment
from tests.harness.records import UNKNOWN_ID, UserRecord
from tests.harness.sample_store import SampleStore

BY_VENDORS = {
    "new option": 'mutation($id: ID!) { option_create(input: {name: "Cor", product_ids: [$id]}) { id } }',
    "option": "mutation($id: ID!, $option: ID!) { option_update(id: $option, input: {product_ids: [$id]}) { id } }",
    "new group": "mutation($id: ID!) { variation_group_create(input: {product_ids: [$id]}) { id } }",
    "required": "mutation($id: ID!, $mug: ID!) { product_required_products_set(id: $mug, product_ids: [$id]) { id } }",
    "order": """mutation($id: ID!, $order: ID!) {
        order_update(id: $order, input: {items: [{product_id: $id, quantity: 1}]}) { id } }""",
    "new shipment": """mutation($id: ID!, $order: ID!) {
        shipment_create(input: {order_id: $order, user_id: $id, carrier: "Correios"}) { id } }""",
}


async def answer(sample: SampleStore, by: UserRecord, text: str, id: str, **variables: str) -> Any:
    """Return the answer without the id."""
    sent = {name: value for name, value in variables.items() if f"${name}:" in text}
    response = await sample.post("/graphql", {"query": text, "variables": {"id": id, **sent}}, by=by, auth="bearer")
    return response.raw.decode().replace(id, "…")


@pytest.mark.parametrize("name", BY_VENDORS)
async def test_another_vendors_record_is_answered_as_none(name: str, sample: SampleStore) -> None:
    hidden = await sample.add_product(vendor_id=sample.rival.number, status="D")
    foreign = [sample.bia] if name == "new shipment" else [sample.plate, hidden]
    option = await sample.add(Option, name="Tamanho", vendor_id=sample.vendor.number)
    own = {"option": option.id, "mug": sample.mug.id, "order": sample.order.id}
    unknown = await answer(sample, sample.vendor_user, BY_VENDORS[name], UNKNOWN_ID, **own)
    assert "not_found" in unknown
    for record in foreign:
        assert await answer(sample, sample.vendor_user, BY_VENDORS[name], record.id, **own) == unknown
    written = "SELECT (SELECT count(*) FROM required_products) + (SELECT count(*) FROM shipments WHERE user_id = $1)"
    assert await sample.value(written, sample.bia.number) == 0


async def test_a_vendor_names_the_customer_in_a_shipment(sample: SampleStore) -> None:
    text = BY_VENDORS["new shipment"]
    assert "errors" not in await answer(sample, sample.vendor_user, text, sample.caio.id, order=sample.order.id)


async def test_another_customers_payment_is_answered_as_none(sample: SampleStore) -> None:
    payment = await sample.add(Payment, order_id=sample.order.number, amount_cents=100, kind="pix")
    text = "mutation($id: ID!) { payment_cancel(payment_id: $id) { id } }"
    unknown = await answer(sample, sample.bia, text, UNKNOWN_ID)
    assert "NOT_FOUND" in unknown
    assert await answer(sample, sample.bia, text, payment.id) == unknown
