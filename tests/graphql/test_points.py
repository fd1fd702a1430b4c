"""Reward points over GraphQL and the REST families: balance, ledger, spending, and who may see and change them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from domain.points.ledger import adjust_points
from domain.promotions.promotions import PROMOTION_RECORDS
from kernel.scope import Actor, ActorKind, active_scope
from models.connection import database
from resolvers import root
from resolvers.engine.compile import QueryCompiler
from resolvers.engine.prepare import prepare_document
from tests.harness.sample_store import SampleStore
from tests.harness.storefront import StorefrontClient

ADJUST = 'mutation($id: ID!, $n: Int!) { points_adjust(user_id: $id, points: $n, reason: "brinde") { points } }'
LEDGER = (
    "{ me { points point_entries(first: 5) { kind points balance reason order_id order { number } user { id } } } }"
)


async def ask(sample: SampleStore, by: Any, text: str, **variables: Any) -> Any:
    answer = await sample.post("/graphql", {"query": text, "variables": variables}, auth="bearer", by=by)
    return answer.body


async def test_staff_adjusts_points_and_the_customer_reads_its_ledger(sample: SampleStore) -> None:
    for points in (500, -120):
        answer = await ask(sample, sample.owner, ADJUST, id=sample.bia.id, n=points)
        assert "errors" not in answer, (points, answer)
    answer = await ask(sample, sample.owner, ADJUST, id=sample.bia.id, n=-381)
    assert answer["errors"][0]["extensions"]["code"] == "RULE_VIOLATION"
    me = (await ask(sample, sample.bia, LEDGER))["data"]["me"]
    entry = {"reason": "brinde", "order_id": None, "order": None, "user": {"id": sample.bia.id}, "kind": "adjusted"}
    assert me == {
        "points": 380,
        "point_entries": [{**entry, "points": -120, "balance": 380}, {**entry, "points": 500, "balance": 500}],
    }
    own = (
        await ask(
            sample, sample.bia, "{ point_entries { points } point_entry_connection { edges { node { points } } } }"
        )
    )["data"]
    assert own["point_entries"] == [{"points": -120}, {"points": 500}]
    assert (await ask(sample, sample.caio, "{ me { points } point_entries { id } }"))["data"] == {
        "me": {"points": 0},
        "point_entries": [],
    }


async def test_customers_and_clerks_do_not_change_points(sample: SampleStore) -> None:
    for by in (sample.bia, sample.staff, sample.vendor_user):
        answer = await ask(sample, by, ADJUST, id=sample.bia.id, n=5)
        assert answer["errors"][0]["extensions"]["code"] == "FORBIDDEN", by
    update = "mutation($id: ID!) { user_update(id: $id, input: {points: 9}) { id } }"
    await ask(sample, sample.bia, update, id=sample.bia.id)
    assert await sample.value("select points from users where id = $1", sample.bia.number) == 0


async def test_only_the_owner_changes_the_points_of_the_owner(sample: SampleStore) -> None:
    deputy = await sample.add_user("manage_users", user_type="A")
    for user, refused in ((deputy, True), (sample.owner, False)):
        answer = await ask(sample, user, ADJUST, id=sample.owner.id, n=5)
        codes = [error["extensions"]["code"] for error in answer.get("errors", ())]
        assert codes == ["FORBIDDEN"] * refused, user
    assert await sample.value("select points from users where id = $1", sample.owner.number) == 5


async def test_points_of_another_store_are_not_found(sample: SampleStore, distant_sample: SampleStore) -> None:
    answer = await ask(sample, sample.owner, ADJUST, id=distant_sample.bia.id, n=5)
    assert answer["errors"][0]["extensions"]["code"] == "NOT_FOUND"


async def test_a_short_ledger_is_read_in_one_statement(sample: SampleStore) -> None:
    scope = replace(
        sample.scope,
        family="graphql",
        actor=Actor(ActorKind.CUSTOMER, user_id=sample.bia.number, user_public_id=UUID(sample.bia.id)),
    )
    for _ in range(4):
        await adjust_points(sample.scope, sample.bia.number, 5)
    schema = root.public_schema()
    prepared = prepare_document(schema, "{ point_entries { points user { points } order { number } } }", limited=True)
    operation = prepared.operation(None)
    assert operation is not None
    compiled = QueryCompiler(schema, native=False).compile_query(prepared, operation, None)
    assert compiled is not None
    with active_scope(scope), database.count_statements() as counted:
        data = await compiled.run(scope)
    assert (len(data["point_entries"]), counted.count) == (4, 1)


async def test_an_order_shows_points_and_coupons_to_its_customer(sample: SampleStore) -> None:
    await adjust_points(sample.scope, sample.bia.number, 1_000)
    with active_scope(sample.scope):
        given = await PROMOTION_RECORDS.create(sample.scope, {"name": "V", "conditions": {"auto_coupons": ""}})
        bonuses = {"give_points": 12, "give_coupon": given}
        await PROMOTION_RECORDS.create(sample.scope, {"name": "B", "bonuses": bonuses})
    order = await sample.place_order((sample.ebook, 1), user=sample.bia.number, points_to_use=400)
    text = """query($id: ID!) { order(id: $id) { points_spent points_cents points_earned discount_cents
        issued_coupons { code is_used is_mailed active_at promotion { name } } } }"""
    shown = (await ask(sample, sample.owner, text, id=order.id))["data"]["order"]
    [coupon] = shown.pop("issued_coupons")
    assert shown == {"points_spent": 400, "points_cents": 400, "points_earned": 12, "discount_cents": 400}
    assert (len(coupon.pop("code")), coupon) == (
        12, {"is_used": False, "is_mailed": False, "active_at": None, "promotion": {"name": "V"}}
    )  # fmt: skip
    own = await ask(
        sample, sample.bia, "query($id: ID!) { order(id: $id) { points_earned issued_coupons { code } } }", id=order.id
    )
    assert own["data"]["order"] == {"points_earned": 12, "issued_coupons": []}
    text = "query($id: ID!) { order(id: $id) { points_spent issued_coupons { code } } }"
    hidden = await ask(sample, sample.vendor_user, text, id=order.id)
    assert hidden["data"]["order"]["issued_coupons"] is None


# --- REST ------------------------------------------------------------------------------------------------------------------


async def test_administrators_read_and_write_points_as_in_cs_cart(sample: SampleStore) -> None:
    user = f"/api/users/{sample.bia.number}"
    assert (await sample.put(user, {"points": "150"})).status == 200
    record = (await sample.get(user)).body
    assert record["points"] == "150"
    assert (await sample.put(user, record)).status == 200
    kinds = await sample.rows("select kind, points from point_entries where user_id = $1", sample.bia.number)
    assert [tuple(row) for row in kinds] == [("adjusted", 150)]
    for wrong in ("-1", "x", 1.5, {"a": 1}, [1], 2**31):
        assert (await sample.put(user, {"points": wrong})).status == 400, wrong
    created = await sample.post("/api/users", {"email": "nova@example.com", "password": "segredo-123", "points": 7})
    assert (await sample.get(f"/api/users/{created.body['user_id']}")).body["points"] == "7"


async def test_a_legacy_order_spends_points(sample: SampleStore) -> None:
    await sample.put(f"/api/users/{sample.bia.number}", {"points": 500})
    body = {
        "user_id": sample.bia.number,
        "products": {"1": {"product_id": sample.ebook.number, "amount": 1}},
        "payment_id": sample.pix.number,
    }
    refused = await sample.post("/api/orders", {**body, "points_to_use": 501})
    assert (refused.status, refused.body["message"], refused.body["points"]) == (422, "the account has 500 points", 500)
    created = await sample.post("/api/orders", {**body, "points_to_use": "500"})
    order = (await sample.get(f"/api/orders/{created.body['order_id']}")).body
    assert order["points_info"] == {"reward": "0", "in_use": {"points": "500", "cost": "5.00"}}
    assert (order["total"], order["discount"]) == ("10.00", "5.00")


@pytest.mark.parametrize("wrong", [None, "5", -1, 2**31, True, 1.5, [1], {}])
async def test_a_cart_takes_whole_points_only(storefront: StorefrontClient, wrong: Any) -> None:
    cart = (await storefront.post("carts", {})).body["id"]
    answer = await storefront.post(f"carts/{cart}/points", {"points_to_use": wrong})
    assert (answer.status, list(answer.body["fields"])) == (400, ["points_to_use"])
    assert (await storefront.post(f"carts/{cart}/points", {"points_to_use": 0})).body["points_to_use"] == 0
    assert (await storefront.post(f"carts/{cart}/points", {"points_to_use": 1})).status == 422
