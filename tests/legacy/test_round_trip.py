"""Check that a record just read may be sent back whole: it changes nothing, whatever the record's state.

The test iterates over the table of entities, so that new ones are included.
"""

from typing import Any
from urllib.parse import urlencode

import pytest

from rest_facade.legacy import product_combinations
from rest_facade.legacy.resource import Resource
from rest_facade.legacy.resources import RESOURCES
from tests.harness.row_versions import changed_tables, row_versions
from tests.harness.sample_store import NewSampleStore, SampleStore
from tests.legacy.entities import path_of, record_of, update_body_of

pytestmark = pytest.mark.combination

UPDATED = [
    *(resource for resource in RESOURCES if {"show", "update"} <= set(resource.actions)),
    product_combinations.COMBINATIONS,
]


@pytest.fixture(scope="module", params=["contract", "cscart"])
async def store(request: Any, new_sample: NewSampleStore) -> SampleStore:
    """Return a store of each dialect."""
    return await new_sample(combination=True, legacy_lists=request.param)


def form(value: Any, name: str = "") -> list[tuple[str, str]]:
    """Return the fields of a PHP form."""
    if isinstance(value, dict | list):
        entries = value.items() if isinstance(value, dict) else enumerate(value)
        return [pair for key, item in entries for pair in form(item, f"{name}[{key}]" if name else str(key))]
    return [(name, "" if value is None else str(value))]


@pytest.mark.parametrize("resource", UPDATED, ids=lambda resource: resource.path.replace("{product_id}", "product"))
async def test_a_record_sent_back_unchanged_changes_nothing(store: SampleStore, resource: Resource) -> None:
    number = record_of(store, resource)
    if resource is product_combinations.COMBINATIONS:
        number = store.combination.number
    path = f"/api/2.0/{path_of(store, resource)}/{number}"
    await age(store)
    before = await store.get(path)
    assert before.status == 200, before.raw
    answers = []
    bodies: tuple[Any, ...] = (before.body, {})
    for body in bodies:
        answers.append(await store.put(path, body))
        assert answers[-1].status == 200, (body, answers[-1].raw)
        assert (await store.get(path)).body == before.body, body
        assert "X-Ignored-Fields" not in answers[-1].headers, body
    # What changes nothing answers the ids that a change does.
    change = update_body_of(store, resource)
    change.pop("combination", None)  # the hash is one of the ids
    changed = await store.put(path, change)
    assert [changed.body] * 2 == [answer.body for answer in answers]


# What they contain of the credentials that a request uses is written by it.
_USED = ("api_keys", "sessions")


@pytest.mark.parametrize("resource", UPDATED, ids=lambda resource: resource.path.replace("{product_id}", "product"))
async def test_a_member_sent_back_alone_writes_nothing(store: SampleStore, resource: Resource) -> None:
    number = record_of(store, resource)
    if resource is product_combinations.COMBINATIONS:
        number = store.combination.number
    path = f"/api/2.0/{path_of(store, resource)}/{number}"
    record = (await store.get(path)).body
    # The models inserted the records without what the domain derives.
    for name, value in record.items():
        await store.put(path, {name: value})
    if "updated_at" in record:  # of an order in the dialect of CS-Cart
        record["updated_at"] = (await store.get(path)).body["updated_at"]
    before = await row_versions(store.store, without=_USED)
    answers = {name: await store.put(path, {name: value}) for name, value in record.items()}
    assert {name: answer.raw for name, answer in answers.items() if answer.status != 200} == {}
    assert changed_tables(before, await row_versions(store.store, without=_USED)) == []
    assert (await store.get(path)).body == record


async def test_a_product_sent_back_by_its_vendor_is_not_changed(store: SampleStore) -> None:
    await age(store)
    path = f"/api/vendor_product/{store.mug}"
    before = (await store.get(path, by=store.vendor_user)).body
    assert (await store.put(path, before, by=store.vendor_user)).status == 200
    assert (await store.get(path, by=store.vendor_user)).body == before


async def test_an_order_sent_back_by_a_vendor_is_not_changed(store: SampleStore) -> None:
    await store.put("/api/settings/legacy_vendor_keys", {"value": "Y"})
    for path in (
        f"/api/{route}/{order}" for route in ("vendor_order", "orders") for order in (store.order, store.shared_order)
    ):
        before = (await store.get(path, by=store.vendor_user)).body
        versions = await row_versions(store.store, without=_USED)
        sent_back = [await store.put(path, {**before, **more}, by=store.vendor_user) for more in ({}, {"carrier": "x"})]
        assert [(answer.status, int(answer.body["order_id"])) for answer in sent_back] == [
            (200, int(before["order_id"]))
        ] * 2, path
        assert changed_tables(versions, await row_versions(store.store, without=_USED)) == [], path


async def test_a_vendor_adds_a_tracking_number_to_the_shared_order_that_it_read(store: SampleStore) -> None:
    path = f"/api/vendor_order/{store.shared_order}"
    order = (await store.get(path, by=store.vendor_user)).body
    shipped = await store.put(path, {**order, "tracking_number": "BR1"}, by=store.vendor_user)
    assert (shipped.status, int(shipped.body["order_id"])) == (200, store.shared_order.number)
    assert (await store.get(path, by=store.vendor_user)).body["shipment_ids"] != order["shipment_ids"]
    refused = await store.put(path, {**order, "status": "P"}, by=store.vendor_user)
    assert refused.status == 403


async def age(store: SampleStore) -> None:
    """Move the last changes into the past, in which no later one of the test is."""
    for table in ("products", "warehouses"):
        await store.execute(f"update {table} set updated_at = updated_at - interval '1 day'")


@pytest.mark.parametrize("name", ["order", "shared_order", "guest_order"])
async def test_an_order_in_any_state_may_be_sent_back(store: SampleStore, name: str) -> None:
    path = f"/api/orders/{getattr(store, name)}"
    before = (await store.get(path)).body
    assert (await store.put(path, before | {"notes": "recado"})).status == 200
    after = (await store.get(path)).body
    changed = {"notes": "recado", **({"updated_at": after["updated_at"]} if "updated_at" in before else {})}
    assert after == before | changed
    for line in before["products"].values():
        line["amount"] = int(line["amount"])
    assert (await store.put(path, before)).status == 200
    assert (await store.get(path)).body["notes"] == before["notes"]


@pytest.mark.parametrize(
    "members", [("item_id", "product_id", "amount", "price"), ("product_id", "amount"), ("item_id",)]
)
async def test_lines_that_say_no_more_than_the_record_may_be_sent_in_any_state(
    store: SampleStore, members: tuple[str, ...]
) -> None:
    path = f"/api/orders/{store.order}"
    assert (await store.put(path, {"status": "C"})).status == 200
    before = (await store.get(path)).body
    lines = {key: {name: line[name] for name in members} for key, line in before["products"].items()}
    assert (await store.put(path, {"notes": "recado", "products": lines})).status == 200
    after = (await store.get(path)).body
    assert (after["notes"], after["products"]) == ("recado", before["products"])
    changed = [lines | {"x": {"product_id": store.ebook.number, "amount": 1}}]
    changed += [{key: line | {name: "9"} for key, line in lines.items()} for name in ("amount", "price")]
    for other in changed:
        assert (await store.put(path, {"products": other})).status == 422, other


async def test_a_closed_order_may_be_sent_back_as_a_form(store: SampleStore) -> None:
    path = f"/api/orders/{store.order}"
    assert (await store.put(path, {"status": "C"})).status == 200
    before = (await store.get(path)).body
    answer = await store.put(path, data=urlencode(form(before | {"notes": "recado"})))
    assert (answer.status, answer.body) == (200, (await store.put(path, {})).body)
    after = (await store.get(path)).body
    assert (after["notes"], after["products"]) == ("recado", before["products"])


async def test_what_is_not_said_about_a_line_does_not_change(store: SampleStore) -> None:
    created = await store.post(
        "/api/orders",
        {
            "user_id": store.caio.number,
            "shipping_id": {"0": store.sedex.number},
            "products": [
                {"product_id": store.ebook.number, "amount": 1, "price": "11.00", "extra": {"gift": "yes"}},
                {"product_id": store.plate.number, "amount": 2},
            ],
        },
    )
    assert created.status == 201, created.raw
    path = f"/api/orders/{created.body['order_id']}"
    before = (await store.get(path)).body
    keys = list(before["products"])
    lines = {key: {"item_id": line["item_id"]} for key, line in before["products"].items()}
    lines[keys[1]]["amount"] = 3
    written = await store.put(path, {"products": lines})
    assert written.status == 200, written.raw
    first, second = (await store.get(path)).body["products"].values()
    assert (first["amount"], first["price"], first["extra"]) == ("1", "11.00", {"gift": "yes"})
    assert (second["amount"], second["price"]) == ("3", before["products"][keys[1]]["price"])


@pytest.mark.parametrize("change", ["min_qty", "required option", "deleted"])
async def test_a_line_that_stays_is_not_sold_again_when_another_changes(store: SampleStore, change: str) -> None:
    created = [
        await store.post("/api/products", {"product": "Caderno", "price": "10.00", "amount": 9, "is_edp": "Y"})
        for _ in range(2)
    ]
    first, second = (answer.body["product_id"] for answer in created)
    lines = [{"product_id": first, "amount": 2}, {"product_id": second, "amount": 1}]
    order = await store.post("/api/orders", {"user_id": store.caio.number, "products": lines})
    path = f"/api/orders/{order.body['order_id']}"
    changed = {
        "min_qty": lambda: store.put(f"/api/products/{first}", {"min_qty": 5}),
        "required option": lambda: store.post(
            "/api/options",
            {"option_name": "Capa", "product_id": first, "required": "Y", "variants": [{"variant_name": "Dura"}]},
        ),
        "deleted": lambda: store.delete(f"/api/products/{first}"),
    }
    assert (await changed[change]()).status in (200, 201, 204)
    before = (await store.get(path)).body
    [stays, edited] = before["products"]
    body = before | {"products": before["products"] | {edited: before["products"][edited] | {"amount": "3"}}}
    written = await store.put(path, body)
    assert written.status == 200, written.raw
    after = (await store.get(path)).body
    assert after["products"][stays] == before["products"][stays]
    assert (after["products"][edited]["amount"], after["subtotal"]) == ("3", "50.00")
    grown = body | {"products": body["products"] | {stays: body["products"][stays] | {"amount": "3"}}}
    assert (await store.put(path, grown)).status in (400, 422)


async def test_one_changed_field_of_a_whole_record_is_changed(store: SampleStore) -> None:
    path = f"/api/products/{store.mug}"
    before = (await store.get(path)).body
    home = store.home.number if isinstance(before["main_category"], int) else str(store.home)
    assert (await store.put(path, before | {"main_category": home})).status == 200
    after = (await store.get(path)).body
    assert (after["main_category"], set(after["category_ids"])) == (home, set(before["category_ids"]))
    assert after["product_features"] == before["product_features"]


@pytest.mark.parametrize("kept", [(), ("home",), ("home", "kitchen")], ids=len)
async def test_categories_of_a_whole_record_are_all_that_the_product_has(
    store: SampleStore, kept: tuple[str, ...]
) -> None:
    path = f"/api/products/{store.plate}"
    assert (await store.put(path, {"category_ids": str(store.kitchen)})).status == 200
    before = (await store.get(path)).body
    [main] = before["category_ids"]
    ids = [type(main)(getattr(store, name).number) for name in kept]
    assert (await store.put(path, before | {"category_ids": ids})).status == 200
    after = (await store.get(path)).body
    assert sorted(after["category_ids"]) == sorted(ids)
    assert after["main_category"] == (main if main in ids else [*ids, type(main)(0)][0])
