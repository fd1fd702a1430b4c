"""Users save addresses: their own only, at most fifty, by the rule of carts; orders keep copies, and deletion erases them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from domain.people import removal
from domain.people.addresses import MAX_ADDRESSES
from kernel.scope import active_scope
from models.tables.users import UserAddress
from resolvers import root
from resolvers.engine.executor import ExecutionContext, error_code, execute_document
from resolvers.engine.prepare import prepare_document
from tests.harness.http import Client
from tests.harness.records import UNKNOWN_ID
from tests.harness.sample_store import SampleStore

FIELDS = "id name street city state zipcode country phone is_default_shipping is_default_billing"
CREATE = f"mutation($input: SavedAddressInput!) {{ record: address_create(input: $input) {{ {FIELDS} }} }}"
UPDATE = f"mutation($id: ID!, $input: SavedAddressInput!) {{ record: address_update(id: $id, input: $input) {{ {FIELDS} }} }}"
DELETE = "mutation($id: ID!) { record: address_delete(id: $id) { id } }"
SET_DEFAULT = (
    f"mutation($id: ID!, $type: AddressType!) {{ record: address_set_default(id: $id, type: $type) {{ {FIELDS} }} }}"
)
MINE = "{ record: me { addresses { id street } default_shipping_address { id } default_billing_address { id } } }"
HOME = {
    "name": "Ana Lima",
    "street": "Rua A",
    "number": "1",
    "city": "São Paulo",
    "state": "SP",
    "zipcode": "01001-000",
}


async def run(client: Client, text: str, **variables: Any) -> Any:
    """Return the record of a document, or the extensions of its error without the path."""
    answer = await client.post("/graphql", {"query": text, "variables": variables})
    if "errors" in answer.body:
        extensions = answer.body["errors"][0]["extensions"]
        return {name: value for name, value in extensions.items() if name != "path"}
    return answer.body["data"]["record"]


async def customer(sample: SampleStore) -> Client:
    return await sample.client(await sample.add_user(user_type="C", key=False))


async def test_the_first_address_is_the_default_and_another_can_be_made_it(sample: SampleStore) -> None:
    client = await customer(sample)
    first = await run(client, CREATE, input=HOME)
    assert first == {
        "id": first["id"],
        "name": "Ana Lima",
        "street": "Rua A",
        "city": "São Paulo",
        "state": "SP",
        "zipcode": "01001000",
        "country": "BR",
        "phone": "",
        "is_default_shipping": True,
        "is_default_billing": True,
    }
    second = await run(client, CREATE, input=HOME | {"street": "Rua B"})
    assert (second["is_default_shipping"], second["is_default_billing"]) == (False, False)
    changed = await run(client, SET_DEFAULT, id=second["id"], type="S")
    assert (changed["is_default_shipping"], changed["is_default_billing"]) == (True, False)
    assert await run(client, SET_DEFAULT, id=second["id"], type="shipping") == changed
    assert await run(client, MINE) == {
        "addresses": [{"id": first["id"], "street": "Rua A"}, {"id": second["id"], "street": "Rua B"}],
        "default_shipping_address": {"id": second["id"]},
        "default_billing_address": {"id": first["id"]},
    }
    assert await run(client, DELETE, id=second["id"]) == {"id": second["id"]}
    assert (await run(client, MINE))["default_shipping_address"] is None


async def test_an_update_changes_what_is_given_and_checks_the_whole(sample: SampleStore) -> None:
    client = await customer(sample)
    address = await run(client, CREATE, input=HOME)
    moved = await run(client, UPDATE, id=address["id"], input={"street": "Rua C"})
    assert moved == address | {"street": "Rua C"}
    invalid = {"code": "VALIDATION_FAILED", "field": "zipcode", "details": {"fields": {"zipcode": "zipcode_invalid"}}}
    assert await run(client, UPDATE, id=address["id"], input={"zipcode": "123"}) == invalid
    abroad = await run(client, UPDATE, id=address["id"], input={"zipcode": "123", "country": "pt"})
    assert (abroad["zipcode"], abroad["country"]) == ("123", "PT")
    assert await run(client, UPDATE, id=address["id"], input={"country": "BR"}) == invalid


@pytest.mark.parametrize(
    "input,fields",
    [
        ({"street": "Rua A"}, {"zipcode": "required"}),
        ({"zipcode": "123"}, {"zipcode": "zipcode_invalid"}),
        ({"zipcode": "01001000", "country": "Brasil"}, {"country": "country_invalid"}),
        ({"zipcode": "01001000", "country": "ZZ"}, {"country": "country_invalid"}),
        ({"zipcode": "01001000", "city": "x" * 256}, {"city": "invalid"}),
        ({"zipcode": "01001000", "name": " ", "city": ""}, {"name": "required", "city": "required"}),
        ({"zipcode": "01001000", "state": "XX"}, {"state": "state_invalid"}),
        ({"zipcode": "01001000", "phone": "ligue"}, {"phone": "phone_invalid"}),
        ({"zipcode": "01001000", "phone": "1"}, {"phone": "phone_invalid"}),
        ({"zipcode": "1", "state": "Sampa"}, {"zipcode": "zipcode_invalid", "state": "state_invalid"}),
    ],
)
async def test_an_invalid_address_is_refused_as_in_a_cart(
    input: dict[str, str], fields: dict[str, str], sample: SampleStore
) -> None:
    client = await customer(sample)
    refusal = await run(client, CREATE, input=input)
    assert (refusal["code"], refusal["details"]["fields"]) == ("VALIDATION_FAILED", fields)
    create_cart = await run(client, "mutation { record: cart_create { id } }")
    text = "mutation($id: ID!, $input: CartAddressInput!) { record: cart_set_address(id: $id, input: $input) { id } }"
    of_cart = await run(client, text, id=create_cart["id"], input=input)
    # A cart's address is always complete: without a CEP it is no `CartAddressInput`.
    assert of_cart == (refusal if "zipcode" in input else {"code": "VALIDATION_FAILED"})


@pytest.mark.parametrize(
    "input",
    [{"state": "sao paulo"}, {"state": "SP"}, {"state": "Lisboa", "country": "PT"}, {"phone": "+351 21 123 4567"}],
)
async def test_a_state_of_the_country_and_a_phone_are_kept_as_sent(input: dict[str, str], sample: SampleStore) -> None:
    client = await customer(sample)
    saved = await run(client, CREATE, input={"zipcode": "01001000", **input})
    assert {name: saved[name] for name in input} == input


async def test_what_an_address_has_from_before_may_be_sent_back(sample: SampleStore) -> None:
    client = await customer(sample)
    address = await run(client, CREATE, input=HOME)
    old = {"name": "", "city": "", "state": "XX", "phone": "1"}
    await sample.execute("UPDATE user_addresses SET name = '', city = '', state = 'XX', phone = '1'")
    changed = await run(client, UPDATE, id=address["id"], input=old | {"street": "Rua C"})
    assert (changed["street"], changed["state"], changed["phone"]) == ("Rua C", "XX", "1")
    refused = await run(client, UPDATE, id=address["id"], input={"state": "YY"})
    assert refused["details"]["fields"] == {"state": "state_invalid"}
    await sample.execute("UPDATE user_addresses SET country = 'ZZ'")
    assert (await run(client, UPDATE, id=address["id"], input={"country": "ZZ", "street": "Rua D"}))[
        "street"
    ] == "Rua D"


async def test_addresses_of_others_are_absent(sample: SampleStore, other_sample: SampleStore) -> None:
    mine = await run(await customer(sample), CREATE, input=HOME)
    for client in (await customer(sample), await customer(other_sample)):
        for id_ in (mine["id"], UNKNOWN_ID, "1", "nonsense"):
            absent = {"code": "NOT_FOUND"}
            assert await run(client, UPDATE, id=id_, input={"street": "X"}) == absent
            assert await run(client, DELETE, id=id_) == absent
            assert await run(client, SET_DEFAULT, id=id_, type="B") == absent
        assert (await run(client, MINE))["addresses"] == []


async def test_an_account_has_at_most_fifty_addresses_also_of_concurrent_requests(sample: SampleStore) -> None:
    person = await sample.add_user(user_type="C", key=False)
    client = await sample.client(person)
    for _ in range(MAX_ADDRESSES - 3):
        await sample.add(UserAddress, user_id=person.number, zipcode="01001000")
    results = await asyncio.gather(*(run(client, CREATE, input=HOME) for _ in range(8)))
    refused = [result for result in results if "id" not in result]
    assert len(refused) == 5
    assert refused[0] == {"code": "RULE_VIOLATION", "details": {"reason": "too_many_addresses"}}
    assert await sample.value("SELECT count(*) FROM user_addresses WHERE user_id = $1", person.number) == MAX_ADDRESSES


async def test_concurrent_first_addresses_and_defaults_leave_one_default(sample: SampleStore) -> None:
    client = await customer(sample)
    created = await asyncio.gather(*(run(client, CREATE, input=HOME) for _ in range(5)))
    await asyncio.gather(*(run(client, SET_DEFAULT, id=address["id"], type="B") for address in created))
    assert all("id" in address for address in created)
    counts = "SELECT count(*) FILTER (WHERE is_default_shipping), count(*) FILTER (WHERE is_default_billing) FROM user_addresses"
    [row] = await sample.rows(counts)
    assert tuple(row) == (1, 1)


async def test_staff_read_the_addresses_of_others_by_privilege(sample: SampleStore) -> None:
    person = await sample.add_user(user_type="C", key=False)
    await run(await sample.client(person), CREATE, input=HOME)
    text = "query($id: ID!) { record: user(id: $id) { addresses { street } default_shipping_address { street } } }"
    staff = await sample.client(await sample.add_user("view_users"))
    assert await run(staff, text, id=person.id) == {
        "addresses": [{"street": "Rua A"}],
        "default_shipping_address": {"street": "Rua A"},
    }
    clerk = await sample.client(await sample.add_user("view_orders"))
    assert (await run(clerk, text, id=person.id))["code"] == "FORBIDDEN"
    await run(clerk, CREATE, input=HOME | {"street": "Rua da Loja"})
    assert [address["street"] for address in (await run(clerk, MINE))["addresses"]] == ["Rua da Loja"]


async def test_keys_and_apps_save_no_addresses(sample: SampleStore) -> None:
    schema = root.public_schema()
    prepared = prepare_document(schema, CREATE, limited=True)
    for scope in (
        sample.as_storefront(scopes=frozenset({"storefront:cart"})),
        sample.as_app(installation_id=1),
        sample.as_anonymous(family="graphql"),
    ):
        with active_scope(scope):
            result = await execute_document(schema, prepared, ExecutionContext(scope), {"input": HOME})
        assert [error_code(error) for error in result.errors or ()] in (["FORBIDDEN"], ["UNAUTHENTICATED"]), scope


@pytest.mark.parametrize("has_order", [False, True])
@pytest.mark.parametrize("remove", [removal.delete_user, removal.anonymize_user])
async def test_deletion_and_anonymization_erase_addresses(has_order: bool, remove: Any, sample: SampleStore) -> None:
    person = await sample.add_user(user_type="C", key=False)
    await run(await sample.client(person), CREATE, input=HOME)
    if has_order:
        await sample.place_order((sample.mug, 1), user=person.number)
    scope = sample.scope
    with active_scope(scope):
        await remove(scope, person.number)
    assert await sample.value("SELECT count(*) FROM user_addresses") == 0


async def test_lists_of_users_load_addresses_with_as_many_statements_for_any_number(sample: SampleStore) -> None:
    staff = await sample.client(await sample.add_user("view_users"))
    text = "query($n: Int!) { users(limit: $n) { addresses { street } default_billing_address { id } } }"
    counts = []
    await staff.post("/graphql", {"query": text, "variables": {"n": 1}})  # counts the store's lists
    for size in (30, 60):
        while await sample.value("SELECT count(*) FROM users") < size:
            person = await sample.add_user(user_type="C", key=False)
            await sample.add(UserAddress, user_id=person.number, zipcode="01001000", is_default_billing=True)
        answer = await staff.post("/graphql", {"query": text, "variables": {"n": size}})
        assert len(answer.body["data"]["users"]) == size
        counts.append(answer.statements)
    assert counts[0] == counts[1]
