"""What is written about orders, shipments, reviews and memberships is read again, by those who may (docs/reference/graphql.md)."""

from __future__ import annotations

from typing import Any

import orjson

from tests.harness.http import Client
from tests.harness.oauth import issue_tokens, register_app
from tests.harness.records import UserRecord
from tests.harness.sample_store import SampleStore

KEY = "35260712ABC34501DE35550010000000011123456784"
NOTE = {
    "link_nota": "https://nfe.example.com/1", "codigo_pedido_erp": "ERP-77", "chave_nota": KEY, "xml_nota": "<nfe/>",
    "pdf_nota": "https://nfe.example.com/1.pdf", "nota_fiscal": "000123", "base64_xml": "PG5mZS8+",
}  # fmt: skip
MEMBERS = " ".join((*NOTE, "chave_nota_valid"))
SET_NOTE = f"""mutation($id: ID!, $input: FiscalDataInput!) {{ order_set_fiscal_data(id: $id, input: $input) {{
    fiscal_data {{ {MEMBERS} }} }} }}"""


async def ask(sample: SampleStore, text: str, by: UserRecord | None = None, **variables: Any) -> dict[str, Any]:
    answer = await sample.post("/graphql", {"query": text, "variables": variables}, auth="bearer", by=by)
    assert answer.status == 200, answer.raw
    return dict(answer.body)


async def result(sample: SampleStore, text: str, by: UserRecord | None = None, **variables: Any) -> Any:
    body = await ask(sample, text, by, **variables)
    assert "errors" not in body, body
    [value] = body["data"].values()
    return value


async def codes(sample: SampleStore, text: str, by: UserRecord | None = None, **variables: Any) -> list[Any]:
    return [
        (error["path"][-1], error["extensions"]["code"])
        for error in (await ask(sample, text, by, **variables))["errors"]
    ]


async def test_fiscal_data_are_read_where_they_are_written(sample):
    written = await result(sample, SET_NOTE, id=sample.order.id, input=NOTE)
    assert written["fiscal_data"] == NOTE | {"chave_nota_valid": True}
    wrong = await result(sample, SET_NOTE, id=sample.order.id, input={"chave_nota": f"{KEY[:-1]}5"})
    assert wrong["fiscal_data"]["chave_nota_valid"] is False
    removed = await result(sample, SET_NOTE, id=sample.order.id, input=dict.fromkeys(NOTE))
    assert removed["fiscal_data"] == dict.fromkeys((*NOTE, "chave_nota_valid"))


async def test_fiscal_data_are_in_the_records_of_v1_and_of_apps(sample):
    await sample.put(f"/api/extra_order_fields/{sample.order}", NOTE)
    owner = await sample.client(sample.owner)
    tokens = await issue_tokens(owner, await register_app(owner, scopes=["read_orders"]), ["read_orders"])
    app = owner.with_token(tokens["access_token"])
    for client, path in ((owner, "/api/v1/admin/orders"), (app, "/api/admin/orders")):
        shown = (await client.get(f"{path}/{sample.order.id}")).body
        assert shown.get("order", shown)["fiscal_data"] == NOTE | {"chave_nota_valid": True}, path
        listed = [row for row in (await client.get(path)).body["orders"] if row["id"] == sample.order.id]
        assert [row["fiscal_data"]["chave_nota"] for row in listed] == [KEY], path


async def test_events_of_an_order_have_its_fiscal_data_without_the_xml(sample):
    await sample.put(f"/api/extra_order_fields/{sample.order}", NOTE)
    [event] = await sample.rows(
        "select data from outbox_events where tenant_id = $1 and subject_id = $2 order by id desc limit 1",
        sample.store.id,
        sample.order.id,
    )
    expected = {name: value for name, value in NOTE.items() if "xml" not in name} | {"chave_nota_valid": True}
    assert orjson.loads(event["data"])["fiscal_data"] == expected
    created = await result(
        sample,
        "mutation($input: OrderInput!) { order_create(input: $input) { id fiscal_data { chave_nota } } }",
        input={"email": "x@example.com", "items": [{"product_id": sample.mug.id, "quantity": 1}],
               "shipping_method_id": sample.sedex.id},
    )  # fmt: skip
    data = await sample.value(
        "select data from outbox_events where tenant_id = $1 and subject_id = $2", sample.store.id, created["id"]
    )
    assert orjson.loads(data)["fiscal_data"] == dict.fromkeys(expected)


async def test_customer_and_vendor_of_an_order_see_its_fiscal_data(sample):
    await sample.put(f"/api/extra_order_fields/{sample.order}", NOTE)
    text = "query($id: ID!) { order(id: $id) { fiscal_data { chave_nota link_nota } } }"
    for person in (sample.caio, sample.vendor_user, sample.staff):
        shown = await result(sample, text, person, id=sample.order.id)
        assert shown["fiscal_data"] == {"chave_nota": KEY, "link_nota": NOTE["link_nota"]}, person.name
    assert await result(sample, text, sample.bia, id=sample.order.id) is None


UPDATE = """mutation($id: ID!, $input: OrderInput!) { order_update(id: $id, input: $input) {
    fields ip_address items { extra } } }"""
READ = "query($id: ID!) { order(id: $id) { fields ip_address items { extra } } }"


async def test_free_fields_address_and_notes_on_lines_are_read_where_they_are_written(sample):
    items = [{"product_id": sample.mug.id, "quantity": 1, "extra": {"gravar": "Ana"}}]
    values = {"fields": {"canal": "loja 3"}, "ip_address": "203.0.113.9", "items": items}
    written = await result(sample, UPDATE, id=sample.order.id, input=values)
    assert written == {
        "fields": {"canal": "loja 3"},
        "ip_address": "203.0.113.9",
        "items": [{"extra": {"gravar": "Ana"}}],
    }
    more = await result(sample, UPDATE, id=sample.order.id, input={"fields": {"caixa": 2}})
    assert more["fields"] == {"canal": "loja 3", "caixa": 2}
    assert (await sample.get(f"/api/orders/{sample.order}")).body["fields"] == {"canal": "loja 3", "caixa": 2}


async def test_a_customer_sees_neither_free_fields_nor_notes_and_a_vendor_no_address(sample):
    refused = sorted(await codes(sample, READ, sample.caio, id=sample.order.id))
    assert {name for name, _ in refused} == {"fields", "ip_address", "extra"}
    assert {code for _, code in refused} == {"FORBIDDEN"}
    assert await codes(sample, READ, sample.vendor_user, id=sample.order.id) == [("ip_address", "FORBIDDEN")]


async def test_the_time_of_the_order_is_read_of_its_shipment(sample):
    text = """mutation($id: ID!, $input: ShipmentInput!) { shipment_update(id: $id, input: $input) {
        order_placed_at order { created_at } } }"""
    written = await result(sample, text, id=sample.shipment.id, input={"order_placed_at": "2026-01-02T03:04:05Z"})
    assert written["order_placed_at"] == "2026-01-02T03:04:05Z"
    own = await result(
        sample, "query($id: ID!) { shipment(id: $id) { order_placed_at } }", sample.owner, id=sample.shipment.id
    )
    assert own == {"order_placed_at": "2026-01-02T03:04:05Z"}


CREATE_REVIEW = """mutation($input: ReviewInput!) { review_create(input: $input) {
    thread_id type object_type object_id ip_address rating } }"""


async def test_discussion_and_type_of_a_review_are_read_where_they_are_written(sample):
    first = await result(
        sample, CREATE_REVIEW,
        input={"object_type": "C", "object_id": sample.kitchen.id, "type": "C", "message": "Boa", "ip_address": "203.0.113.9"},
    )  # fmt: skip
    assert {name: value for name, value in first.items() if name != "thread_id"} == {
        "type": "C", "object_type": "C", "object_id": sample.kitchen.id, "ip_address": "203.0.113.9", "rating": None,
    }  # fmt: skip
    second = await result(sample, CREATE_REVIEW, input={"thread_id": first["thread_id"], "message": "Outra"})
    assert (second["thread_id"], second["object_id"]) == (first["thread_id"], sample.kitchen.id)
    listed = await result(
        sample, "query($id: [ID!]) { reviews(filter: {thread_id: $id}) { message } }", id=first["thread_id"]
    )
    assert sorted(row["message"] for row in listed) == ["Boa", "Outra"]
    about_store = await result(sample, CREATE_REVIEW, input={"object_type": "E", "message": "Ótima loja", "rating": 5})
    assert (about_store["object_id"], about_store["type"]) == (None, "B")


DELETE_MEMBERSHIP = """mutation($user: ID!, $group: ID!) { usergroup_membership_delete(user_id: $user, usergroup_id: $group) {
    usergroups { usergroup { name } } } }"""


async def test_a_membership_is_deleted_with_its_privileges(sample):
    member = await sample.add_user("view_content")
    await result(
        sample,
        "mutation($user: ID!, $group: ID!) { usergroup_membership_set(user_id: $user, usergroup_id: $group, status: A) { id } }",
        user=member.id,
        group=sample.team.id,
    )
    orders = "{ orders(limit: 1) { id } }"
    assert await result(sample, orders, member)
    deleted = await result(sample, DELETE_MEMBERSHIP, user=member.id, group=sample.team.id)
    assert deleted == {"usergroups": []}
    assert await codes(sample, orders, member) == [("orders", "FORBIDDEN")]
    again = await codes(sample, DELETE_MEMBERSHIP, user=member.id, group=sample.team.id)
    assert again == [("usergroup_membership_delete", "NOT_FOUND")]


async def test_who_may_not_manage_users_deletes_no_membership(sample):
    for person in (sample.staff, sample.vendor_user, sample.caio):
        refused = await codes(sample, DELETE_MEMBERSHIP, person, user=sample.caio.id, group=sample.wholesale.id)
        assert refused == [("usergroup_membership_delete", "FORBIDDEN")], person.name
    assert await sample.value("select count(*) from usergroup_memberships where user_id = $1", sample.caio.number) == 1


async def test_a_sign_in_key_signs_in_once(sample):
    create = "mutation($email: String!) { sign_in_key_create(email: $email) { key page } }"
    made = await result(sample, create, email="caio@example.com")
    assert made["page"] is None
    exchange = "mutation($key: String!) { sign_in_with_key(key: $key) { access_token refresh_token expires_at } }"
    anonymous: Client = sample.anonymous
    body = {"query": exchange, "variables": {"key": made["key"]}}
    pair = (await anonymous.post("/graphql", body)).body["data"]["sign_in_with_key"]
    assert pair["access_token"]
    assert (await anonymous.post("/graphql", body)).body["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"
    for person in (sample.staff, sample.vendor_user, sample.caio):
        assert await codes(sample, create, person, email="bia@example.com") == [("sign_in_key_create", "FORBIDDEN")]


async def test_the_message_of_maintenance_and_owners_and_shared_options_are_read(sample):
    store = await result(
        sample, 'mutation { store_update(input: {maintenance_message: "Voltamos às 8 h"}) { maintenance_message } }'
    )
    assert store == {"maintenance_message": "Voltamos às 8 h"}
    for name in ("category", "payment_method", "shipping_method"):
        fields = "vendor_id vendor { name }"
        values = '{name: "Da Sol", vendor_id: $vendor}'
        text = f"mutation($vendor: ID!) {{ {name}_create(input: {values}) {{ {fields} }} }}"
        made = await result(sample, text, vendor=sample.vendor.id)
        assert made == {"vendor_id": sample.vendor.id, "vendor": {"name": "Ateliê Sol"}}, name
    option = await result(
        sample,
        """mutation($products: [ID!]!) { option_create(input: {name: "Cor", product_ids: $products, variants: [{name: "Azul"}]}) {
            products { edges { node { id } } } } }""",
        products=[sample.mug.id, sample.plate.id],
    )
    shared = {edge["node"]["id"] for edge in option["products"]["edges"]}
    assert shared == {sample.mug.id, sample.plate.id}
