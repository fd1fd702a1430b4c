"""Listing and reprocessing gateway notifications (docs/reference/current.md#gateway-notifications)."""

import re

import pytest

from domain import stores
from tests.harness import records, scopes
from tests.harness.gateway import SECRET, charge, event, raw, signature

INBOUND = "/api/v1/webhooks/gateway"
LIST = "/api/v1/admin/gateway/webhooks"
BOTH = ["manage_payments", "view_payments"]


@pytest.fixture(autouse=True)
async def gateway_secret(store):
    await stores.set_gateway_secret(scopes.system_scope(store), SECRET)


async def send(client, event_type, data, **more):
    body = event(event_type, data, **more)
    headers = {"X-Hub-Signature-256": signature(body)}
    answer = await client.with_token(None).request("POST", INBOUND, data=raw(body), headers=headers)
    assert answer.body == {"message": "received"}
    return await scopes.value(client.store, "select max(id) from gateway_notifications")


async def status(store, order):
    return await scopes.value(store, "select status from orders where id = $1", order.number)


async def switch_off(store):
    await stores.update_settings(scopes.system_scope(store), {"payment_gateway": False})


# --- Listing -----------------------------------------------------------------------------------------------------------------


async def test_a_notification_record_has_all_documented_fields(admin, store):
    order = await records.add_order(store)
    paid = charge(order.number, 3_980)
    number = await send(admin, "charge.paid", paid, id="hook_of_this_test")
    answer = await admin.get(LIST)
    assert answer.status == 200
    assert list(answer.body) == ["webhooks", "total", "page", "per_page"]
    [record] = answer.body["webhooks"]
    created_at = record.pop("created_at")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", created_at)
    assert record == {
        "id": number,
        "event_id": "hook_of_this_test",
        "event_type": "charge.paid",
        "charge_id": paid["id"],
        "processed": True,
        "error_message": "",
    }
    assert (answer.body["total"], answer.body["page"], answer.body["per_page"]) == (1, 1, 20)


async def test_missing_members_are_empty_or_absent(admin):
    await send(admin, "recipient.created", {}, id=None)
    [record] = (await admin.get(LIST)).body["webhooks"]
    assert record["event_id"] == ""
    assert "charge_id" not in record


async def test_a_failed_update_is_processed_with_an_error_message(admin):
    await send(admin, "charge.paid", charge("unknown"))
    [record] = (await admin.get(LIST, processed="true")).body["webhooks"]
    assert record["processed"] is True
    assert record["error_message"] == "order not found: 'unknown'"


async def test_notifications_are_paginated_newest_first(admin):
    numbers = [await send(admin, "charge.created", charge(1)) for _ in range(5)]
    shown = []
    for page in (1, 2, 3, 4):
        answer = await admin.get(LIST, page=str(page), per_page="2")
        assert (answer.body["total"], answer.body["page"], answer.body["per_page"]) == (5, page, 2)
        shown += [record["id"] for record in answer.body["webhooks"]]
    assert shown == sorted(numbers, reverse=True)


async def test_the_response_contains_the_applied_page_size(admin):
    sizes = {value: (await admin.get(LIST, per_page=value)).body["per_page"] for value in ("1", "100", "101", "99999")}
    assert sizes == {"1": 1, "100": 100, "101": 100, "99999": 100}


@pytest.mark.parametrize(
    "value, ids",
    [("true", 1), ("1", 1), ("t", 1), ("TRUE", 1), ("false", 2), ("0", 2), ("f", 2), ("", 3), (None, 3)],
)
async def test_the_list_is_filtered_by_processed(admin, store, value, ids):
    numbers = [await send(admin, "charge.created", charge(1)) for _ in range(3)]
    await scopes.execute(store, "update gateway_notifications set processed = false where id <> $1", numbers[0])
    query = {} if value is None else {"processed": value}
    answer = await admin.get(LIST, **query)
    expected = {1: numbers[:1], 2: numbers[1:], 3: numbers}[ids]
    assert [record["id"] for record in answer.body["webhooks"]] == expected[::-1]
    assert answer.body["total"] == len(expected)


@pytest.mark.parametrize("value", ["yes", "2", "truee", "null", "-1", "é", "t f"])
async def test_a_processed_filter_that_is_not_a_boolean_is_rejected(admin, value):
    answer = await admin.get(LIST, processed=value)
    assert (answer.status, answer.body["error"]) == (400, "invalid processed filter")
    assert set(answer.body) == {"error", "detail"}


async def test_a_processed_filter_with_two_values_is_rejected_by_the_same_text(admin):
    answer = await admin.get(f"{LIST}?processed=true&processed=false")
    detail = "processed is 'true' and 'false'; expected it once"
    assert (answer.status, answer.body) == (400, {"error": "invalid processed filter", "detail": detail})


@pytest.mark.parametrize("name", ["page", "per_page"])
@pytest.mark.parametrize("value", ["0", "-1", "x", "1.5", "", " ", "1e3", "٣"])
async def test_pagination_parameters_that_are_not_positive_integers_are_rejected(admin, name, value):
    answer = await admin.get(LIST, **{name: value})
    assert (answer.status, answer.body["error"]) == (400, f"invalid {name}")


async def test_a_page_after_the_last_is_empty_however_high_its_number(admin):
    await send(admin, "charge.created", charge(1))
    for page in ("2", "2147483648", "9" * 40):
        answer = await admin.get(LIST, page=page)
        assert (answer.status, answer.body["webhooks"], answer.body["total"]) == (200, [], 1), page


async def test_other_stores_notifications_are_not_listed(admin, other_admin, other_store):
    await stores.set_gateway_secret(scopes.system_scope(other_store), SECRET)
    await send(other_admin, "charge.created", charge(1))
    assert (await admin.get(LIST)).body["total"] == 0
    assert (await other_admin.get(LIST)).body["total"] == 1


async def test_the_statement_count_of_a_list_is_constant(admin):
    counts = []
    for _ in range(2):
        for _ in range(5):
            await send(admin, "charge.created", charge(1))
        counts.append((await admin.get(LIST)).statements)
    assert counts[0] == counts[1] <= 2


async def test_an_unexpected_error_in_a_list_is_500(admin, monkeypatch):
    async def fails(*_):
        raise LookupError("a bug")

    monkeypatch.setattr("rest_facade.current.gateway.execute", fails)
    response = await admin.http.get(
        LIST,
        headers={"Authorization": f"Bearer {admin.token}", "X-Tenant-ID": str(admin.store.public_id)},
    )
    assert response.status == 500
    assert await response.json() == {
        "error": "failed to list webhooks",
        "detail": "an unexpected error occurred",
    }


# --- Privileges -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method, path", [("GET", LIST), ("POST", f"{LIST}/1/reprocess")])
class TestRights:
    """Both routes run the same checks in the same order."""

    async def test_either_privilege_is_sufficient(self, new_client, method, path):
        for privilege in BOTH:
            user = await new_client(privilege)
            assert (await user.request(method, path)).status in (200, 422), privilege

    async def test_without_either_privilege_the_error_names_both(self, new_client, method, path):
        user = await new_client("manage_orders", "view_settings")
        answer = await user.request(method, path)
        assert (answer.status, answer.body) == (
            403,
            {"error": "insufficient privileges", "privilege_required_any": BOTH},
        )

    @pytest.mark.parametrize("user_type", ["C", "V"])
    async def test_users_other_than_administrators_are_rejected(self, new_client, method, path, user_type):
        user = await new_client(user_type=user_type)
        answer = await user.request(method, path)
        assert (answer.status, answer.body) == (403, {"error": "insufficient permissions"})

    async def test_a_disabled_module_is_checked_last(self, admin, new_client, store, method, path):
        clerk = await new_client("view_orders")
        await switch_off(store)
        answer = await admin.request(method, path)
        assert (answer.status, answer.body) == (
            403,
            {"error": "module_disabled", "module": "payment_gateway"},
        )
        assert (await clerk.request(method, path)).body["error"] == "insufficient privileges"
        for wrong in (f"{LIST}?page=0", f"{LIST}?processed=x"):
            assert (await admin.get(wrong)).body["error"] == "module_disabled"
        assert (await admin.post(f"{LIST}/x/reprocess")).body["error"] == "module_disabled"

    async def test_checks_run_in_the_documented_order(self, admin, store, method, path):
        await switch_off(store)
        unknown = {"X-Tenant-ID": "018f0000-0000-7000-8000-000000000000"}
        anonymous = admin.with_token(None)
        for headers, code, text in (
            (unknown, 404, "tenant not found"),
            ({}, 401, "missing authorization header"),
            ({"Authorization": "Basic x"}, 401, "invalid authorization format"),
            ({"Authorization": "Bearer x"}, 401, "invalid or expired token"),
        ):
            answer = await anonymous.from_new_address().request(method, path, headers=headers)
            assert (answer.status, answer.body["error"]) == (code, text)

    async def test_a_token_of_another_store_is_rejected(self, other_admin, store, method, path):
        answer = await other_admin.at(store).request(method, path)
        assert (answer.status, answer.body["error"]) == (403, "token not valid for this storefront")


async def test_a_disabled_module_still_receives_notifications(admin, store):
    order = await records.add_order(store)
    await switch_off(store)
    await send(admin, "charge.paid", charge(order.number, 3_980))
    assert await status(store, order) == "P"


# --- Reprocessing -------------------------------------------------------------------------------------------------------------------


async def test_reprocessing_sets_the_mapped_status_regardless_of_later_changes(admin, store):
    order = await records.add_order(store)
    number = await send(admin, "charge.paid", charge(order.number, 3_980))
    for status_code in ("C", "I"):
        assert (await admin.put(f"/api/v1/admin/orders/{order.id}/status", {"status": status_code})).status == 200
    answer = await admin.post(f"{LIST}/{number}/reprocess")
    assert (answer.status, answer.body) == (200, {"message": "webhook reprocessed"})
    assert await status(store, order) == "P"


async def test_reprocessing_clears_the_error(admin, store):
    order = await records.add_order(store, status="C")
    number = await send(admin, "charge.paid", charge(order.number, 3_980))
    [record] = (await admin.get(LIST)).body["webhooks"]
    assert (record["processed"], record["error_message"]) == (
        True,
        "an order can't go from C to P; allowed: I",
    )
    assert (await admin.post(f"{LIST}/{number}/reprocess")).status == 200
    [record] = (await admin.get(LIST)).body["webhooks"]
    assert (record["processed"], record["error_message"]) == (True, "")


@pytest.mark.parametrize(
    "value", ["x", "1.5", "1e3", "018f0000-0000-7000-8000-000000000000", "é", "+", "1%20", "%7Bid%7D"]
)
async def test_an_id_that_is_not_an_integer_is_rejected(admin, value):
    answer = await admin.post(f"{LIST}/{value}/reprocess")
    assert (answer.status, answer.body["error"]) == (400, "invalid webhook id")
    assert set(answer.body) == {"error", "detail"}


@pytest.mark.parametrize("value", ["0", "-1", "999999999", str(2**63), "9" * 5_000])
async def test_an_unknown_id_is_422(admin, value):
    answer = await admin.post(f"{LIST}/{value}/reprocess")
    assert (answer.status, answer.body) == (
        422,
        {"error": "failed to reprocess webhook", "detail": "webhook not found"},
    )


async def test_another_stores_notification_is_422(admin, other_admin, other_store):
    await stores.set_gateway_secret(scopes.system_scope(other_store), SECRET)
    number = await send(other_admin, "charge.created", charge(1))
    assert (await admin.post(f"{LIST}/{number}/reprocess")).status == 422


@pytest.mark.parametrize(
    "event_type, more, detail",
    [
        ("charge.paid", {"order": None, "metadata": {"order_id": 2**40}}, f"order not found: {2**40}"),
        ("charge.paid", {"amount": 100}, "underpaid: 100 of 3980 cents"),
        ("charge.underpaid", {"paid_amount": 100}, "underpaid: 100 of 3980 cents"),
        (
            "charge.paid",
            {"currency": "USD", "id": "ch_x"},
            "currency: the charge ch_x is in USD, the store's is BRL",
        ),
    ],
)
async def test_a_notification_that_cannot_be_processed_is_422_and_changes_nothing(
    admin, store, event_type, more, detail
):
    order = await records.add_order(store)
    number = await send(admin, event_type, {**charge(order.number, 3_980), **more})
    before = (await admin.get(LIST)).body
    answer = await admin.post(f"{LIST}/{number}/reprocess")
    assert (answer.status, answer.body) == (422, {"error": "failed to reprocess webhook", "detail": detail})
    assert (await admin.get(LIST)).body == before
    assert await status(store, order) == "O"


async def test_reprocessing_without_stock_is_422(admin, store):
    product = await records.add_product(store, on_hand=2)
    order = await records.add_order(store, product=product, status="I")
    await records.add_order(store, product=product)
    number = await send(admin, "charge.paid", charge(order.number, 3_980))
    answer = await admin.post(f"{LIST}/{number}/reprocess")
    assert answer.status == 422
    assert answer.body["detail"].startswith("out_of_stock:")
    assert await status(store, order) == "I"


# --- GraphQL -----------------------------------------------------------------------------------------------------------------


async def run_graphql(client, query, **variables):
    answer = await client.post("/graphql", {"query": query, "variables": variables})
    assert answer.status == 200
    return answer.body


async def test_graphql_lists_and_reprocesses(admin, store):
    order = await records.add_order(store)
    paid = charge(order.number, 3_980, payment_method="pix")
    number = await send(admin, "charge.paid", paid)
    body = await run_graphql(
        admin,
        "query($id: ID!) { gateway_notification(id: $id) { id event_type unsigned processed_at }"
        " gateway_notifications(filter: {processed: true}) { id charge_id }"
        " gateway_notification_page { total items { error_message } } }",
        id=str(number),
    )
    data = body["data"]
    assert data["gateway_notification"]["id"] == number
    assert data["gateway_notification"]["unsigned"] is False
    assert data["gateway_notifications"] == [{"id": number, "charge_id": paid["id"]}]
    assert data["gateway_notification_page"] == {"total": 1, "items": [{"error_message": ""}]}
    await admin.put(f"/api/v1/admin/orders/{order.id}/status", {"status": "C"})
    again = "mutation($id: ID!) { gateway_notification_reprocess(id: $id) { id processed } }"
    done = await run_graphql(admin, again, id=str(number))
    assert done["data"] == {"gateway_notification_reprocess": {"id": number, "processed": True}}
    assert await status(store, order) == "P"
    [error] = (await run_graphql(admin, again, id="0"))["errors"]
    assert error["extensions"]["code"] == "NOT_FOUND"


async def test_an_order_returns_its_charges(admin, new_client, store):
    order = await records.add_order(store)
    paid = charge(order.number, 3_980, payment_method="pix")
    await send(admin, "charge.paid", paid)
    query = (
        "query($id: ID!) { order(id: $id) { charges"
        " { charge_id status payment_method currency amount_cents paid_cents refunded_cents last_event } } }"
    )
    expected = {
        "charge_id": paid["id"],
        "status": "paid",
        "payment_method": "pix",
        "currency": "BRL",
        "amount_cents": 3_980,
        "paid_cents": 3_980,
        "refunded_cents": 0,
        "last_event": "charge.paid",
    }
    for viewer in (admin, await new_client("view_orders")):
        assert (await run_graphql(viewer, query, id=order.id))["data"]["order"] == {"charges": [expected]}


async def test_graphql_requires_the_same_privileges(admin, new_client, store):
    clerk = await new_client("view_orders")
    query = "{ gateway_notifications { id } }"
    again = 'mutation { gateway_notification_reprocess(id: "1") { id } }'
    for document in (query, again):
        [error] = (await run_graphql(clerk, document))["errors"]
        assert error["extensions"]["code"] == "FORBIDDEN", document
        assert error["extensions"]["details"]["privilege_required_any"] == BOTH, document
    await switch_off(store)
    for document in (query, again):
        [error] = (await run_graphql(admin, document))["errors"]
        assert (error["message"], error["extensions"]["details"]) == (
            "module_disabled",
            {"module": "payment_gateway"},
        ), document


async def test_setting_or_clearing_the_secret_requires_manage_payments(admin, new_client, store):
    document = "mutation($secret: String!) { store_gateway_secret_set(secret: $secret) { id } }"
    for privilege in ("view_payments", "manage_settings"):
        user = await new_client(privilege)
        [error] = (await run_graphql(user, document, secret=""))["errors"]
        assert error["extensions"]["details"] == {"required": "manage_payments"}, privilege
    assert await stores.gateway_secret(scopes.system_scope(store)) == SECRET
    treasurer = await new_client("manage_payments")
    for secret, stored in (("new", "new"), ("****", "new"), ("", None)):
        body = await run_graphql(treasurer, document, secret=secret)
        assert body["data"]["store_gateway_secret_set"]["id"] == str(store.public_id), (secret, stored)
        assert await stores.gateway_secret(scopes.system_scope(store)) == stored
    [error] = (await run_graphql(treasurer, document, secret="x" * 1_001))["errors"]
    assert error["extensions"]["details"]["fields"] == {"secret": "secret_invalid"}


async def test_the_receive_mutation_is_not_in_the_public_schema(admin):
    document = 'mutation { gateway_notification_receive(body: "x", signatures: []) { message } }'
    answer = await admin.post("/graphql", {"query": document})
    assert "errors" in answer.body
    assert "data" not in answer.body or answer.body["data"] is None
