"""Menus: nested items that lead to records or links, read by storefronts in as many statements however many items there are."""

from __future__ import annotations

from typing import Any

import pytest

from auth.storefront_keys import create_storefront_key
from models.connection import database
from tests.graphql.conftest import ExecuteQuery, StoreRecords
from tests.harness.sample_store import SampleStore

ITEM = "name link category { slug } collection { slug } page { slug } product { slug } vendor { slug }"
MENU = f"""query($handle: String!) {{ menu(handle: $handle) {{
    handle name items {{ {ITEM} items {{ {ITEM} items {{ {ITEM} }} }} }} }} }}"""
CREATE = "mutation($input: MenuCreateInput!) { menu_create(input: $input) { id } }"
UPDATE = "mutation($id: ID!, $input: MenuInput!) { menu_update(id: $id, input: $input) { id name items { id name } } }"


async def send(sample: SampleStore, query: str, **variables: Any) -> Any:
    return (await sample.post("/graphql", {"query": query, "variables": variables}, auth="bearer")).body


async def shown(sample: SampleStore, handle: str = "main") -> Any:
    """Return a menu as a storefront key reads it."""
    async with database.transaction(sample.scope):
        key = (await create_storefront_key(sample.scope, {"scopes": ["storefront:read"]})).key
    body = {"query": MENU, "variables": {"handle": handle}}
    answer = await sample.anonymous.post("/graphql", body, headers={"X-API-Key": key})
    return answer.body["data"]["menu"]


def leaf(name: str, **target: Any) -> dict[str, Any]:
    return {"name": name, "target": target}


async def create(sample: SampleStore, *items: Any, handle: str = "main") -> Any:
    return await send(sample, CREATE, input={"handle": handle, "name": "Principal", "items": list(items)})


async def add_collection(sample: SampleStore) -> str:
    query = 'mutation { collection_create(input: {name: "Presentes"}) { id } }'
    return str((await send(sample, query))["data"]["collection_create"]["id"])


async def add_page(sample: SampleStore) -> str:
    query = 'mutation { page_create(input: {name: "Ajuda"}) { id } }'
    return str((await send(sample, query))["data"]["page_create"]["id"])


async def test_a_storefront_reads_nested_items_with_what_they_lead_to(sample: SampleStore) -> None:
    product = await sample.add_product()
    page, vendor, category = await add_page(sample), str(sample.vendor.id), str(sample.home.id)
    below = [leaf("Peça", product_id=str(product.id)), leaf("Blog", link="https://blog.example.com/")]
    answer = await create(
        sample,
        {
            **leaf("Casa", category_id=category),
            "items": [{"name": "Mais", "items": below}, leaf("Ajuda", page_id=page)],
        },
        leaf("Ateliê", vendor_id=vendor),
        leaf("Para dar", collection_id=await add_collection(sample)),
    )
    assert "errors" not in answer, answer
    menu = await shown(sample)
    house, atelier, gifts = menu["items"]
    assert (menu["handle"], menu["name"]) == ("main", "Principal")
    assert (house["name"], house["category"] is None, house["link"]) == ("Casa", False, None)
    assert atelier["vendor"]["slug"]
    assert (gifts["collection"], gifts["page"]) == ({"slug": "presentes"}, None)
    more, help_ = house["items"]
    assert help_["page"] == {"slug": "ajuda"}
    assert (more["name"], more["category"], more["link"]) == ("Mais", None, None), "a heading"
    assert [item["name"] for item in more["items"]] == ["Peça", "Blog"]
    assert more["items"][0]["product"]["slug"]
    assert more["items"][1]["link"] == "https://blog.example.com/"
    assert await shown(sample, "footer") is None


async def test_shoppers_see_what_they_can_open(sample: SampleStore) -> None:
    product, gone = await sample.add_product(), await sample.add_product()
    page, collection = await add_page(sample), await add_collection(sample)
    items = [
        leaf("a", product_id=str(product.id)),
        leaf("b", product_id=str(gone.id)),
        leaf("c", page_id=page),
        {**leaf("e", collection_id=collection), "items": [leaf("f", link="/f")]},
        {"name": "d"},
    ]
    await create(sample, *items)
    await sample.execute("update products set status = 'D' where id = $1", product.number)
    await sample.execute("update products set deleted_at = now() where id = $1", gone.number)
    await sample.execute("update pages set status = 'D' where public_id = $1", page)
    assert [item["name"] for item in (await shown(sample))["items"]] == ["e", "d"]
    await sample.execute("update collections set status = 'D' where public_id = $1", collection)
    assert [item["name"] for item in (await shown(sample))["items"]] == ["d"]
    unfiltered = (await send(sample, MENU, handle="main"))["data"]["menu"]
    assert [item["name"] for item in unfiltered["items"]] == ["a", "b", "c", "e", "d"]


async def test_an_update_replaces_the_items_and_leaves_the_equal_ones(sample: SampleStore) -> None:
    made = (await create(sample, leaf("a", link="/a"), leaf("b", link="/b")))["data"]["menu_create"]["id"]
    changed_at = "select updated_at from menus where handle = 'main'"
    first = await sample.value(changed_at)
    same = (await send(sample, UPDATE, id=made, input={"items": [leaf("a", link="/a"), leaf("b", link="/b")]}))["data"]
    assert await sample.value(changed_at) == first, "nothing changed"
    nested = {**leaf("a", link="/a"), "items": [leaf("c", link="/c")]}
    answer = (await send(sample, UPDATE, id=made, input={"items": [nested]}))["data"]["menu_update"]
    assert [item["id"] for item in answer["items"]] == [same["menu_update"]["items"][0]["id"]]
    assert await sample.value(changed_at) > first
    assert [item["name"] for item in (await shown(sample))["items"][0]["items"]] == ["c"]
    renamed = (await send(sample, UPDATE, id=made, input={"name": "Topo"}))["data"]["menu_update"]
    assert (renamed["name"], len(renamed["items"])) == ("Topo", 1)
    assert "errors" not in await send(sample, f'mutation {{ menu_delete(id: "{made}") {{ id }} }}')
    assert await shown(sample) is None
    assert await sample.value("select count(*) from menu_items") == 0


def _deep(levels: int) -> dict[str, Any]:
    return {"name": "x", **({"items": [_deep(levels - 1)]} if levels > 1 else {})}


@pytest.mark.parametrize(
    "code, item",
    [
        ("target_invalid", leaf("a", link="/a", page_id="6f9619ff-8b86-d011-b42d-00c04fc964ff")),
        ("target_invalid", leaf("a")),
        ("target_invalid", leaf("a", link=None)),
        ("not_found", leaf("a", page_id="6f9619ff-8b86-d011-b42d-00c04fc964ff")),
        ("not_found", leaf("a", page_id="x")),
        ("not_found", leaf("a", collection_id="6f9619ff-8b86-d011-b42d-00c04fc964ff")),
        ("target_invalid", leaf("a", collection_id="1", page_id="1")),
        ("link_invalid", leaf("a", link="javascript:alert(1)")),
        ("link_invalid", leaf("a", link="//evil.example")),
        ("name_required", {"name": " "}),
        ("name_invalid", {"name": "x" * 300}),
        ("too_deep", _deep(5)),
        ("too_many", {"name": "x", "items": [{"name": "x"}] * 200}),
    ],
)
async def test_what_no_menu_can_have_is_refused(shared_sample: SampleStore, code: str, item: Any) -> None:
    answer = await create(shared_sample, item, handle="refused")
    (error,) = answer["errors"]
    assert error["extensions"]["code"] == "VALIDATION_FAILED"
    if code == "target_invalid":  # of the type, `@oneOf`
        assert "MenuTargetInput" in error["message"] or "Exactly one key" in error["message"], error
    else:
        assert code in str(error["extensions"]["details"]), error


async def test_a_literal_target_has_exactly_one_key(shared_sample: SampleStore) -> None:
    for target in ("{}", '{link: "/a", page_id: "1"}', "{link: null}"):
        text = f'mutation {{ menu_create(input: {{handle: "z", name: "z", items: [{{name: "a", target: {target}}}]}}) {{ id }} }}'
        (error,) = (await send(shared_sample, text))["errors"]
        assert error["extensions"]["code"] == "VALIDATION_FAILED", (target, error)


@pytest.mark.parametrize("handle", ["", "Main", "a b", "-a", "x" * 65])
async def test_handles_are_unique_words_of_an_address(shared_sample: SampleStore, handle: str) -> None:
    (error,) = (await create(shared_sample, handle=handle))["errors"]
    assert error["extensions"]["code"] == "VALIDATION_FAILED"


async def test_a_handle_names_one_menu_of_a_store(sample: SampleStore, other_sample: SampleStore) -> None:
    assert "errors" not in await create(sample)
    assert "handle_taken" in str(await create(sample))
    assert await shown(other_sample) is None
    assert "errors" not in await create(other_sample)


@pytest.mark.parametrize("caller", ["admin", "customer", "storefront"])
async def test_a_menu_takes_as_many_statements_however_many_items_it_has(
    caller: str, records: StoreRecords, execute_query: ExecuteQuery
) -> None:
    counts = []
    for size in (1, 5):
        items = [
            {"name": str(number), "items": [leaf("a", link="/a"), {"name": "b", "items": [leaf("c", link="/c")]}]}
            for number in range(size)
        ]
        handle = f"{caller}-{size}"
        made = await execute_query(
            records.callers["admin"], CREATE, input={"handle": handle, "name": "x", "items": items}
        )
        assert not made.errors, (size, made.errors)
        with database.count_statements() as counted:
            answer = await execute_query(records.callers[caller], MENU, handle=handle)
        assert len(answer.data["menu"]["items"]) == size, size
        counts.append(counted.count)
    assert counts[0] == counts[1] <= 4, counts
