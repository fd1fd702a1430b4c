"""The options of an order line: what was chosen when it was bought, with the options as they are now."""

from __future__ import annotations

from typing import Any

import pytest

from tests.harness.records import UserRecord
from tests.harness.sample_store import SampleStore
from tests.harness.storefront import open_storefront

pytestmark = pytest.mark.combination

CREATE = "mutation ($input: OrderInput!) { order_create(input: $input) { id } }"
FIELDS = """
options {
  __typename option_id option { id name } name variant_id variant { id name } value modifier modifier_type
}
"""
ORDER = f"query ($id: ID!) {{ order(id: $id) {{ items {{ chosen {FIELDS} }} }} }}"
LIST = f"query ($limit: Int!) {{ orders(limit: $limit, sort: CREATED_AT_DESC) {{ items {{ {FIELDS} }} }} }}"


async def _execute(sample: SampleStore, query: str, by: UserRecord | None = None, **variables: Any) -> Any:
    body = {"query": query, "variables": variables}
    answer = await sample.post("/graphql", body, auth="bearer", by=by)
    assert "errors" not in answer.body, answer.body
    return answer


async def _order(sample: SampleStore) -> str:
    """Return the id of an order of a large plain mug with an engraving, by Caio."""
    options = {sample.size.id: sample.large.id, sample.print.id: sample.plain.id, sample.engraving.id: "Feliz 2026"}
    line = {"product_id": sample.mug.id, "quantity": 1, "options": options}
    order = {"customer_id": sample.caio.id, "shipping_method_id": sample.sedex.id, "items": [line]}
    created: str = (await _execute(sample, CREATE, input=order)).body["data"]["order_create"]["id"]
    return created


async def _lines(sample: SampleStore, order: str, by: UserRecord | None = None) -> Any:
    [line] = (await _execute(sample, ORDER, by, id=order)).body["data"]["order"]["items"]
    return line


async def test_options_are_typed_and_lead_to_their_records(sample: SampleStore) -> None:
    line = await _lines(sample, await _order(sample))
    size, _, engraving = line["options"]
    assert size == {
        "__typename": "OrderLineOption",
        "option_id": sample.size.id,
        "option": {"id": sample.size.id, "name": "Tamanho"},
        "name": "Tamanho",
        "variant_id": sample.large.id,
        "variant": {"id": sample.large.id, "name": "Grande"},
        "value": "Grande",
        "modifier": 500,
        "modifier_type": "A",
    }
    assert (engraving["option_id"], engraving["value"]) == (sample.engraving.id, "Feliz 2026")
    assert (engraving["variant_id"], engraving["variant"]) == (None, None)
    names = ("option_id", "name", "variant_id", "value", "modifier", "modifier_type")
    assert line["chosen"] == [{name: option[name] for name in names} for option in line["options"]]


async def test_names_are_those_of_the_purchase_and_records_those_of_today(sample: SampleStore) -> None:
    order = await _order(sample)
    await sample.put(f"/api/options/{sample.size}", {"option_name": "Medida"})
    [size, *_] = (await _lines(sample, order))["options"]
    assert (size["name"], size["option"]["name"]) == ("Tamanho", "Medida")


async def test_a_caller_reads_the_choices_of_lines_and_the_options_that_it_may_see(sample: SampleStore) -> None:
    order = await _order(sample)
    await sample.put(f"/api/products/{sample.mug}", {"status": "D"})
    shown = {
        user: [
            (option["name"], option["option"] is not None) for option in (await _lines(sample, order, user))["options"]
        ]
        for user in (None, sample.vendor_user, sample.caio)
    }
    names = ("Tamanho", "Estampa", "Gravação")
    assert shown[None] == shown[sample.vendor_user] == [(name, True) for name in names]
    assert shown[sample.caio] == [(name, False) for name in names]  # of a disabled product


async def test_a_guest_sees_the_options_of_a_placed_order(sample: SampleStore) -> None:
    shop = await open_storefront(sample)
    options = {sample.size.id: sample.large.id, sample.print.id: sample.plain.id}
    line = {"product_id": sample.mug.id, "quantity": 1, "options": options}
    placed = (await shop.check_out(await shop.cart(items=[line]))).body
    query = f"query ($id: ID!, $token: String) {{ placed_order(id: $id, token: $token) {{ items {{ {FIELDS} }} }} }}"
    variables = {"id": placed["id"], "token": placed["token"]}
    key = {"X-API-Key": shop.key}
    answer = await sample.post("/graphql", {"query": query, "variables": variables}, auth=None, headers=key)
    assert "errors" not in answer.body, answer.body
    [item] = answer.body["data"]["placed_order"]["items"]
    assert [(option["value"], option["option"]["id"]) for option in item["options"]] == [
        ("Grande", sample.size.id),
        ("Lisa", sample.print.id),
    ]


@pytest.mark.parametrize("by", ["admin", "customer"])
async def test_lists_of_orders_read_options_with_as_many_statements_for_any_number(
    sample: SampleStore, by: str
) -> None:
    user = sample.caio if by == "customer" else None
    for _ in range(2):
        await _order(sample)
    counts = []
    await _execute(sample, LIST, user, limit=1)  # counts the store's lists
    for limit in (1, 2):
        answer = await _execute(sample, LIST, user, limit=limit)
        assert all(order["items"][0]["options"] for order in answer.body["data"]["orders"]), limit
        counts.append(answer.statements)
    assert counts[0] == counts[1]
