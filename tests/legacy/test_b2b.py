"""Check managers, payment codes, business partners, mix products, manager transactions, order limits and credit scores."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from domain.b2b import bureau
from domain.stores import update_settings
from kernel.errors import ValidationFailed
from kernel.scope import active_scope
from server.outgoing import outgoing_client
from tests.harness.http import Response, system_trust
from tests.harness.records import UNKNOWN_NUMBER
from tests.harness.sample_records import CNPJ
from tests.harness.sample_store import SampleStore

OTHER_CNPJ = "11444777000161"
ALPHANUMERIC = "12ABC34501DE35"


async def create(sample: SampleStore, path: str, **body: Any) -> str:
    answer = await sample.post(f"/api/{path}", body)
    assert answer.status == 201, answer.raw
    [number] = answer.body.values()
    return number


async def rows(sample: SampleStore, path: str) -> list[dict[str, Any]]:
    answer = await sample.get(f"/api/{path}")
    assert answer.status == 200, answer.raw
    records = answer.body[path.partition("?")[0]]
    return list(records.values()) if isinstance(records, dict) else records


# --- Records -----------------------------------------------------------------------------------------------------------------

MINIMAL_BODIES: dict[str, dict[str, Any]] = {
    "managers": {"name": "Nina", "email": "nina@example.com"},
    "payment_codes": {"code": "NOVO"},
    "business_partners": {"company": "Mercado Lua", "CNPJ": OTHER_CNPJ},
    "mix_products": {"product_id": None},
    "manager_transactions": {"manager_id": None, "amount": "1"},
}


ID_FIELDS = {
    "managers": "manager_id",
    "payment_codes": "payment_code_id",
    "business_partners": "partner_id",
    "mix_products": "mix_product_id",
    "manager_transactions": "transaction_id",
}


def minimal_body(sample: SampleStore, path: str) -> dict[str, Any]:
    ids = {"product_id": sample.plate.number, "manager_id": sample.manager.number}
    return {name: ids.get(name) if value is None else value for name, value in MINIMAL_BODIES[path].items()}


DEFAULTS = {
    "managers": {
        "name": "Nina", "email": "nina@example.com", "phone": "", "commission": "0.00", "status": "A", "user_id": "0", "balance": "0.00",
    },
    "payment_codes": {
        "code": "NOVO", "description": "", "installments": "1", "days": [], "min_amount": "0.00", "status": "A",
    },
    "business_partners": {
        "company": "Mercado Lua", "CNPJ": OTHER_CNPJ, "email": "", "phone": "", "contact_name": "", "status": "A",
        "credit_limit": "0.00", "payment_code_id": "0", "manager_id": "0",
    },
    "mix_products": {"partner_id": "0", "manager_id": "0", "min_amount": "0", "price": "0.00", "status": "A"},
    "manager_transactions": {"order_id": "0", "type": "C", "amount": "1.00", "description": ""},
}  # fmt: skip


@pytest.mark.parametrize("path", MINIMAL_BODIES)
async def test_required_fields_suffice_for_creation(sample, path):
    number = await create(sample, path, **minimal_body(sample, path))
    [record] = [row for row in await rows(sample, f"{path}?items_per_page=250") if row[ID_FIELDS[path]] == number]
    assert record | DEFAULTS[path] == record
    timestamp = record.get("timestamp")
    assert timestamp is None or abs(int(timestamp) - datetime.now(UTC).timestamp()) < 60


FIELDS = [
    ("managers", "name", " José Sá ", "José Sá"),
    ("managers", "email", "Outra@Example.com", "outra@example.com"),
    ("managers", "phone", "(81) 99999-0000", "(81) 99999-0000"),
    ("managers", "commission", 5.5, "5.50"),
    ("managers", "commission", "100", "100.00"),
    ("managers", "status", "disabled", "D"),
    ("managers", "user_id", "{caio}", "{caio}"),
    ("managers", "balance", "99.00", "0.00"),
    ("payment_codes", "code", 30, "30"),
    ("payment_codes", "description", "À vista", "À vista"),
    ("payment_codes", "installments", "3", "3"),
    ("payment_codes", "days", [30, "60", 90.0], [30, 60, 90]),
    ("payment_codes", "days", "30, 60", [30, 60]),
    ("payment_codes", "days", {"0": 15, "1": 45}, [15, 45]),
    ("payment_codes", "days", [], []),
    ("payment_codes", "min_amount", "150.5", "150.50"),
    ("payment_codes", "status", "D", "D"),
    ("business_partners", "company", "Outro nome", "Outro nome"),
    ("business_partners", "CNPJ", "11.444.777/0001-61", OTHER_CNPJ),
    ("business_partners", "CNPJ", ALPHANUMERIC.lower(), ALPHANUMERIC),
    ("business_partners", "CNPJ", 11444777000161, OTHER_CNPJ),
    ("business_partners", "CNPJ", "11444777000199", "11444777000199"),
    ("business_partners", "email", "A@Example.com", "a@example.com"),
    ("business_partners", "phone", "3030", "3030"),
    ("business_partners", "contact_name", "Dona Zica", "Dona Zica"),
    ("business_partners", "status", "inactive", "D"),
    ("business_partners", "credit_limit", 1_000, "1000.00"),
    ("business_partners", "payment_code_id", "{terms}", "{terms}"),
    ("business_partners", "manager_id", "{manager}", "{manager}"),
    ("business_partners", "manager_id", 0, "0"),
    ("mix_products", "product_id", "{ebook}", "{ebook}"),
    ("mix_products", "partner_id", "{partner}", "{partner}"),
    ("mix_products", "manager_id", "{manager}", "{manager}"),
    ("mix_products", "min_amount", "12", "12"),
    ("mix_products", "price", "19.9", "19.90"),
    ("mix_products", "status", "Active", "A"),
    ("manager_transactions", "order_id", "{order}", "{order}"),
    ("manager_transactions", "type", "debit", "D"),
    ("manager_transactions", "type", "c", "C"),
    ("manager_transactions", "amount", 12.5, "12.50"),
    ("manager_transactions", "description", "Prêmio", "Prêmio"),
]


@pytest.mark.parametrize("path, name, value, expected", FIELDS)
async def test_a_field_is_read_back_and_filters(sample, path, name, value, expected):
    def with_id(value: Any) -> Any:
        return str(getattr(sample, value.strip("{}"))) if isinstance(value, str) and "{" in value else value

    value, expected = with_id(value), with_id(expected)
    number = await create(sample, path, **minimal_body(sample, path) | {name: value})
    [record] = [row for row in await rows(sample, f"{path}?items_per_page=250") if row[ID_FIELDS[path]] == number]
    assert record[name] == expected
    if path == "managers" and name != "balance":
        answer = await sample.put(f"/api/managers/{sample.manager}", {name: value})
        assert (answer.status, answer.body) == (200, {"manager_id": str(sample.manager)})
        assert (await sample.get(f"/api/managers/{sample.manager}")).body[name] == expected
    if path == "business_partners":
        answer = await sample.put(f"/api/business_partners/{sample.partner}", {name: value})
        assert (answer.status, answer.body) == (200, {"partner_id": str(sample.partner)})
        assert (await sample.get(f"/api/business_partners/{sample.partner}")).body[name] == expected
    if name != "days":
        answer = await sample.get(f"/api/{path}", params={name: expected, "items_per_page": "250"})
        assert number in answer.body[path], answer.body
        assert answer.body["search"] == {name: expected}
        empty = await sample.get(f"/api/{path}", params={name: "zzz"})
        assert (empty.status, empty.body[path]) == (200, {})


INVALID = [
    ("managers", {"name": ""}, "name is required"),
    ("managers", {"email": None}, "email is required"),
    ("managers", {"email": "no address"}, "email"),
    ("managers", {"name": "x" * 256}, "name"),
    ("managers", {"name": ["x"]}, "name"),
    ("managers", {"commission": "100.01"}, "commission"),
    ("managers", {"commission": "-1"}, "commission"),
    ("managers", {"commission": "x"}, "commission"),
    ("managers", {"status": "H"}, "status"),
    ("managers", {"user_id": UNKNOWN_NUMBER}, "user"),
    ("managers", {"user_id": "abc"}, "user_id"),
    ("managers", {"user_id": {}}, "user_id"),
    ("payment_codes", {"code": ""}, "code is required"),
    ("payment_codes", {"code": "30/60"}, "code"),
    ("payment_codes", {"installments": 0}, "installments"),
    ("payment_codes", {"installments": 10**12}, "installments"),
    ("payment_codes", {"days": ["x"]}, "days"),
    ("payment_codes", {"days": [-1]}, "days"),
    ("payment_codes", {"days": [10**18]}, "days"),
    ("payment_codes", {"days": list(range(400))}, "days"),
    ("payment_codes", {"days": True}, "days"),
    ("payment_codes", {"days": [[1]]}, "days"),
    ("payment_codes", {"min_amount": "1.999"}, "min_amount"),
    ("business_partners", {"company": " "}, "company is required"),
    ("business_partners", {"CNPJ": ""}, "CNPJ is required"),
    ("business_partners", {"CNPJ": "123"}, "CNPJ"),
    ("business_partners", {"CNPJ": ["x"]}, "CNPJ"),
    ("business_partners", {"email": "x"}, "email"),
    ("business_partners", {"credit_limit": "1e3"}, "credit_limit"),
    ("business_partners", {"payment_code_id": UNKNOWN_NUMBER}, "payment_code_id"),
    ("business_partners", {"manager_id": UNKNOWN_NUMBER}, "manager_id"),
    ("mix_products", {"product_id": ""}, "product_id is required"),
    ("mix_products", {"product_id": 0}, "product_id is required"),
    ("mix_products", {"product_id": UNKNOWN_NUMBER}, "product_id"),
    ("mix_products", {"partner_id": UNKNOWN_NUMBER}, "partner_id"),
    ("mix_products", {"min_amount": -1}, "min_amount"),
    ("mix_products", {"min_amount": "1.5"}, "min_amount"),
    ("mix_products", {"price": "-1"}, "price"),
    ("manager_transactions", {"manager_id": None}, "manager_id is required"),
    ("manager_transactions", {"manager_id": UNKNOWN_NUMBER}, "manager_id"),
    ("manager_transactions", {"amount": ""}, "amount is required"),
    ("manager_transactions", {"amount": 0}, "amount"),
    ("manager_transactions", {"amount": "-5"}, "amount"),
    ("manager_transactions", {"amount": "0.001"}, "amount"),
    ("manager_transactions", {"type": "Z"}, "type"),
    ("manager_transactions", {"order_id": UNKNOWN_NUMBER}, "order_id"),
]


@pytest.mark.parametrize("path, change, message", INVALID)
async def test_invalid_input_is_rejected_and_creates_nothing(sample, path, change, message):
    before = await rows(sample, f"{path}?items_per_page=250")
    answer = await sample.post(f"/api/{path}", minimal_body(sample, path) | change)
    assert (answer.status, set(answer.body)) == (400, {"status", "message"}), answer.raw
    assert answer.body["message"].startswith(message)
    assert await rows(sample, f"{path}?items_per_page=250") == before
    assert (await sample.get(f"/api/managers/{sample.manager}")).body["balance"] == "100.00"


async def test_records_of_another_store_are_not_found(sample, distant_sample):
    for path, body in (
        ("managers", {"user_id": distant_sample.caio.number}),
        ("business_partners", {"manager_id": distant_sample.manager.number}),
        ("business_partners", {"payment_code_id": distant_sample.terms.id}),
        ("mix_products", {"product_id": distant_sample.mug.number}),
        ("mix_products", {"partner_id": distant_sample.partner.number}),
        ("manager_transactions", {"manager_id": distant_sample.manager.number}),
        ("manager_transactions", {"order_id": distant_sample.order.number}),
    ):
        assert (await sample.post(f"/api/{path}", minimal_body(sample, path) | body)).status == 400, (
            path,
            body,
        )
    for method, path in (
        ("GET", "managers"),
        ("PUT", "managers"),
        ("DELETE", "managers"),
        ("PUT", "business_partners"),
    ):
        record = distant_sample.manager if path == "managers" else distant_sample.partner
        answer = await sample.request(method, f"/api/{path}/{record}", {} if method == "PUT" else None)
        assert answer.status == 404, (method, path)


async def test_graphql_finds_a_partner_by_its_alphanumeric_cnpj_in_other_forms(sample):
    await create(sample, "business_partners", company="Mercado Lua", CNPJ=ALPHANUMERIC)
    query = "query($cnpj: [String!]) { business_partners(filter: {cnpj: $cnpj}) { name cnpj } }"
    for spelling in (ALPHANUMERIC, ALPHANUMERIC.lower(), "12.abc.345/01de-35"):
        answer = await sample.post("/graphql", {"query": query, "variables": {"cnpj": spelling}}, auth="bearer")
        partners = answer.body["data"]["business_partners"]
        assert partners == [{"name": "Mercado Lua", "cnpj": ALPHANUMERIC}], spelling


async def test_deleting_a_manager_keeps_its_partners(sample):
    answer = await sample.delete(f"/api/managers/{sample.manager}")
    assert (answer.status, answer.raw) == (204, b"")
    assert (await sample.get(f"/api/managers/{sample.manager}")).status == 404
    assert (await sample.get(f"/api/business_partners/{sample.partner}")).body["manager_id"] == str(sample.manager)
    assert (
        await sample.put(f"/api/business_partners/{sample.partner}", {"manager_id": sample.manager.number})
    ).status == 400


async def test_a_deleted_payment_code_can_be_reused(sample):
    query = "mutation ($id: ID!) { payment_code_delete(id: $id) { id } }"
    await sample.post("/graphql", {"query": query, "variables": {"id": sample.terms.id}}, auth="bearer")
    assert (await sample.post("/api/payment_codes", {"code": "30/60"})).status == 201


# --- Transactions ------------------------------------------------------------------------------------------------------------


async def test_each_manager_has_its_own_balance(sample):
    other = await create(sample, "managers", **MINIMAL_BODIES["managers"])
    for body in ({"amount": "25.00"}, {"amount": "150.00", "type": "D"}):
        await create(sample, "manager_transactions", manager_id=sample.manager.number, **body)
    await create(sample, "manager_transactions", manager_id=other, amount="7.00")
    assert (await sample.get(f"/api/managers/{sample.manager}")).body["balance"] == "-25.00"
    assert (await sample.get(f"/api/managers/{other}")).body["balance"] == "7.00"
    transactions = await rows(sample, f"manager_transactions?manager_id={sample.manager}")
    assert [(row["type"], row["amount"]) for row in transactions] == [
        ("D", "150.00"),
        ("C", "25.00"),
        ("C", "100.00"),
    ]


async def test_concurrent_transactions_lose_no_update(sample):
    body = {"manager_id": sample.manager.number, "amount": "1.00"}
    answers = await asyncio.gather(*(sample.post("/api/manager_transactions", body) for _ in range(12)))
    assert {answer.status for answer in answers} == {201}
    assert (await sample.get(f"/api/managers/{sample.manager}")).body["balance"] == "112.00"
    balances = await sample.rows(
        "select balance_cents from manager_transactions where manager_id = $1", sample.manager.number
    )
    assert sorted(row[0] for row in balances) == [10_000 + 100 * number for number in range(13)]


async def test_a_balance_beyond_the_maximum_is_rejected(sample):
    body = {"manager_id": sample.manager.number, "amount": "10000000000000.00"}
    answer = await sample.post("/api/manager_transactions", body)
    assert (answer.status, set(answer.body)) == (422, {"status", "message"})
    assert (await sample.get(f"/api/managers/{sample.manager}")).body["balance"] == "100.00"


async def test_transactions_are_immutable(sample):
    for method in ("PUT", "DELETE", "GET"):
        answer = await sample.request(
            method, f"/api/manager_transactions/{sample.transaction}", {} if method == "PUT" else None
        )
        assert answer.status == 404, method


# --- Order limits ------------------------------------------------------------------------------------------------------------


async def set_limit(sample: SampleStore, amount: Any, **change: Any) -> Response:
    body = {
        "user_id": sample.caio.number,
        "company_id": sample.vendor.number,
        "limit_amount": amount,
    } | change
    return await sample.put("/api/order_limit", body)


async def create_order(sample: SampleStore, amount: int = 1, **change: Any) -> Response:
    body = {
        "user_id": sample.caio.number,
        "shipping_id": sample.sedex.number,
        "products": [{"product_id": sample.mug.number, "amount": amount}],
    }
    return await sample.post("/api/orders", body | change)


async def test_a_limit_is_set_and_replaced(sample):
    answer = await set_limit(sample, "500.00")
    assert answer.status == 200
    # One order of two mugs and shipping: 114.80.
    assert answer.body == {
        "order_limit_id": answer.body["order_limit_id"],
        "user_id": str(sample.caio),
        "company_id": str(sample.vendor),
        "limit_amount": "500.00",
        "used_amount": "114.80",
        "available_amount": "385.20",
    }
    replaced = await set_limit(sample, 100, user_id=sample.caio.id, company_id=str(sample.vendor))
    assert replaced.body == answer.body | {"limit_amount": "100.00", "available_amount": "0.00"}
    unchanged = await sample.put(
        "/api/order_limit", {"user_id": sample.caio.number, "company_id": sample.vendor.number}
    )
    assert unchanged.body == replaced.body


async def test_open_and_paid_orders_use_the_limit_and_completed_ones_do_not(sample):
    for status, used in (("P", "114.80"), ("B", "114.80"), ("C", "0.00"), ("I", "0.00")):
        await sample.put(f"/api/orders/{sample.order}", {"status": status})
        assert (await set_limit(sample, "500.00")).body["used_amount"] == used, status


async def test_only_the_vendors_lines_of_a_shared_order_count(sample):
    for company, used in ((sample.vendor, "49.90"), (sample.rival, "75.00")):
        body = (await set_limit(sample, "500", user_id=sample.bia.number, company_id=company.number)).body
        assert body["used_amount"] == used


async def test_an_order_above_the_available_limit_is_rejected(sample):
    await set_limit(sample, "180.00")  # 65.20 are available; an order of one mug costs 64.90
    before = await sample.value("select count(*) from orders")
    refused = await create_order(sample, 2)
    assert (refused.status, refused.body["limit_amount"], refused.body["available_amount"]) == (
        422,
        "180.00",
        "65.20",
    )
    assert "limit" in refused.body["message"]
    assert await sample.value("select count(*) from orders") == before
    assert await sample.value("select reserved from products where id = $1", sample.mug.number) == 3
    assert (await create_order(sample, 1)).status == 201
    assert (await create_order(sample, 1)).status == 422
    assert (await create_order(sample, 1, user_id=sample.bia.number)).status == 201
    assert (await create_order(sample, products=[{"product_id": sample.plate.number, "amount": 9}])).status == 201
    assert (await create_order(sample, 1, status="I")).status == 201
    await sample.put(f"/api/orders/{sample.order}", {"status": "I"})
    assert (await create_order(sample, 1)).status == 201


async def test_a_shared_order_is_checked_against_each_vendors_limit(sample):
    await set_limit(sample, "100.00", company_id=sample.rival.number)
    products = [
        {"product_id": sample.mug.number, "amount": 1},
        {"product_id": sample.plate.number, "amount": 5},
    ]
    assert (await create_order(sample, products=products)).status == 422
    products[1]["amount"] = 4
    assert (await create_order(sample, products=products)).status == 201


async def test_an_order_update_cannot_exceed_the_limit(sample):
    await set_limit(sample, "180.00")
    path = f"/api/orders/{sample.order}"
    assert (await sample.put(path, {"products": [{"product_id": sample.mug.number, "amount": 4}]})).status == 422
    assert (await sample.get(path)).body["total"] == "114.80"
    assert (await sample.put(path, {"products": [{"product_id": sample.mug.number, "amount": 3}]})).status == 200
    await set_limit(sample, "10.00")
    assert (await sample.put(path, {"products": [{"product_id": sample.mug.number, "amount": 2}]})).status == 200


@pytest.mark.parametrize("status", ["D", "F", "I"])
async def test_a_failed_or_cancelled_order_cannot_be_reopened_beyond_the_limit(sample, status):
    path = f"/api/orders/{sample.order}"
    assert (await sample.put(path, {"status": status})).status == 200
    await set_limit(sample, "100.00")
    refused = await sample.put(path, {"status": "O"})
    assert (refused.status, refused.body["available_amount"]) == (422, "0.00"), refused.body
    assert (await sample.get(path)).body["status"] == status
    assert await sample.value("select reserved from products where id = $1", sample.mug.number) == 1
    if status != "I":
        assert (await sample.put(path, {"status": "I"})).status == 200
    await set_limit(sample, "114.80")
    assert (await sample.put(path, {"status": "O"})).status == 200


async def test_reopening_an_order_for_another_customer_checks_that_customers_limit(sample):
    path = f"/api/orders/{sample.order}"
    assert (await sample.put(path, {"status": "D"})).status == 200
    await set_limit(sample, "100.00", user_id=sample.bia.number)
    refused = await sample.put(path, {"status": "O", "user_id": sample.bia.number})
    assert refused.status == 422, refused.body
    body = (await sample.get(path)).body
    assert (body["status"], body["user_id"]) == ("D", str(sample.caio.number))


async def test_concurrent_orders_never_exceed_the_limit(sample):
    await set_limit(sample, "280.00")  # enough for two more of 64.90
    answers = await asyncio.gather(*(create_order(sample, 1) for _ in range(8)))
    assert sorted(answer.status for answer in answers) == [201] * 2 + [422] * 6
    assert (await set_limit(sample, "280.00")).body["available_amount"] == "35.40"


@pytest.mark.parametrize(
    "change, message",
    [
        ({"user_id": None}, "user_id is required"),
        ({"user_id": 0}, "user_id is required"),
        ({"company_id": ""}, "company_id is required"),
        ({"user_id": UNKNOWN_NUMBER}, "user"),
        ({"company_id": UNKNOWN_NUMBER}, "company_id"),
        ({"company_id": "abc"}, "company_id"),
        ({"limit_amount": "-1"}, "limit_amount"),
        ({"limit_amount": "x"}, "limit_amount"),
        ({"limit_amount": 10**18}, "limit_amount"),
        ({"limit_amount": None}, "limit_amount"),
    ],
)
async def test_an_invalid_limit_is_rejected(sample, change, message):
    answer = await set_limit(sample, "1.00", **change)
    assert (answer.status, set(answer.body)) == (400, {"status", "message"}), answer.raw
    assert answer.body["message"].startswith(message)
    assert not await sample.value("select count(*) from order_limits")


async def test_a_first_limit_requires_an_amount(sample):
    answer = await sample.put("/api/order_limit", {"user_id": sample.caio.number, "company_id": sample.vendor.number})
    assert (answer.status, answer.body["message"]) == (400, "limit_amount is required")


async def test_users_and_vendors_of_another_store_are_rejected(sample, distant_sample):
    for change in ({"user_id": distant_sample.caio.number}, {"company_id": distant_sample.vendor.id}):
        assert (await set_limit(sample, "1.00", **change)).status == 400


# --- Credit scores -----------------------------------------------------------------------------------------------------------


class FakeBureau:
    """A fake credit bureau."""

    def __init__(self) -> None:
        self.requests: list[tuple[Any, str | None]] = []
        self.answer: Any = {"score": 512, "risk": "medium", "limit_suggested": "1234.50", "source": "serasa"}
        self.status = 200
        self.wait = 0.0
        self.url = ""

    async def check(self, request: web.Request) -> web.Response:
        self.requests.append((await request.json(), request.headers.get("Authorization")))
        await asyncio.sleep(self.wait)
        if isinstance(self.answer, bytes):
            return web.Response(body=self.answer, status=self.status)
        return web.json_response(self.answer, status=self.status)


@pytest.fixture
async def fake_bureau():
    fake = FakeBureau()
    app = web.Application()
    app.router.add_post("/check", fake.check)
    async with TestServer(app) as server, outgoing_client(allows_private=True, trust=system_trust()):
        fake.url = str(server.make_url("/check"))
        yield fake


async def check(sample: SampleStore, cnpj: Any = OTHER_CNPJ) -> Response:
    return await sample.post("/api/credit_score", {"CNPJ": cnpj})


async def test_the_stores_bureau_is_called_once_a_day(new_sample, fake_bureau):
    sample = await new_sample(credit_bureau_url=fake_bureau.url)
    answer = await check(sample, "11.444.777/0001-61")
    assert answer.status == 200
    body = answer.body
    checked_at = body.pop("checked_at")
    assert abs(int(checked_at) - datetime.now(UTC).timestamp()) < 60
    assert body == {
        "CNPJ": OTHER_CNPJ, "score": "512", "risk": "medium", "limit_suggested": "1234.50", "source": "serasa",
    }  # fmt: skip
    assert fake_bureau.requests == [({"cnpj": OTHER_CNPJ}, None)]
    fake_bureau.answer = {"score": 1}
    assert (await check(sample)).body == answer.body
    assert (await check(sample, ALPHANUMERIC)).body["score"] == "1"
    assert len(fake_bureau.requests) == 2
    yesterday = datetime.now(UTC) - timedelta(hours=24, seconds=1)
    await sample.execute("update credit_checks set checked_at = $1", yesterday)
    assert (await check(sample)).body["score"] == "1"


async def test_the_bureau_token_is_sent_and_stored_encrypted(new_sample, fake_bureau):
    sample = await new_sample(credit_bureau_url=fake_bureau.url)
    mutation = "mutation ($settings: JSON!) { store_settings_update(settings: $settings) { settings } }"

    async def set_token(token: str) -> Any:
        payload = {"query": mutation, "variables": {"settings": {"credit_bureau_token": token}}}
        return (await sample.post("/graphql", payload, auth="bearer")).body

    body = await set_token("geheim-123")
    settings = body["data"]["store_settings_update"]["settings"]
    assert settings["credit_bureau_token"] == "****"
    await set_token("****")
    stored = await sample.value("select settings::text from tenants where id = $1", sample.store.id)
    assert "geheim" not in stored
    await check(sample)
    assert fake_bureau.requests == [({"cnpj": OTHER_CNPJ}, "Bearer geheim-123")]


async def test_a_new_bureau_url_clears_the_token_unless_it_is_sent_too(new_sample, fake_bureau):
    sample = await new_sample(credit_bureau_url="http://127.0.0.1:1/check")

    async def settings(**values: str) -> None:
        with active_scope(sample.scope):
            await update_settings(sample.scope, values)

    await settings(credit_bureau_token="geheim-123")
    await settings(credit_bureau_url="http://127.0.0.1:1/check", support_phone="1")
    stored = "select settings ->> 'credit_bureau_token' from tenants where id = $1"
    assert await sample.value(stored, sample.store.id)
    await settings(credit_bureau_url=fake_bureau.url)
    assert not await sample.value(stored, sample.store.id)
    await settings(credit_bureau_url="http://127.0.0.1:1/check", credit_bureau_token="neu-456")
    assert await sample.value(stored, sample.store.id)
    await settings(credit_bureau_url=fake_bureau.url, credit_bureau_token="****")
    assert not await sample.value(stored, sample.store.id)


async def test_a_store_without_a_bureau_is_422(new_sample):
    sample = await new_sample(credit_bureau_url="")
    answer = await check(sample, CNPJ)
    assert (answer.status, answer.body) == (422, {"status": 422, "message": "credit bureau not configured"})


@pytest.mark.parametrize(
    "status, body",
    [
        (500, {"score": 1}), (302, {}), (401, {}), (204, {}), (200, b"not json"), (200, []), (200, {}),
        (200, {"score": 1001}), (200, {"score": -1}), (200, {"score": "7"}), (200, {"score": True}),
        (200, {"score": 1, "risk": "none"}), (200, {"score": 1, "limit_suggested": "x"}), (200, {"score": 1, "source": 5}),
        (200, b"x" * 100_000),
    ],
)  # fmt: skip
async def test_a_failing_or_malformed_bureau_response_is_503(new_sample, fake_bureau, status, body):
    sample = await new_sample(credit_bureau_url=fake_bureau.url)
    fake_bureau.status, fake_bureau.answer = status, body
    answer = await check(sample)
    assert (answer.status, answer.body) == (503, {"status": 503, "message": "credit bureau unavailable"})
    assert not await sample.value("select count(*) from credit_checks where cnpj = $1", OTHER_CNPJ)


async def test_an_unreachable_or_slow_bureau_is_503(new_sample, fake_bureau, monkeypatch):
    sample = await new_sample(credit_bureau_url="http://127.0.0.1:1/check")
    assert (await check(sample)).status == 503
    monkeypatch.setattr(bureau, "TIMEOUT_SECONDS", 0.2)
    sample = await new_sample(credit_bureau_url=fake_bureau.url)
    fake_bureau.wait = 5
    assert (await check(sample)).status == 503


async def test_a_company_unknown_to_the_bureau_is_422(new_sample, fake_bureau):
    sample = await new_sample(credit_bureau_url=fake_bureau.url)
    fake_bureau.status = 404
    assert (await check(sample)).status == 422


@pytest.mark.parametrize(
    "cnpj",
    [None, "", "11444777000199", "00000000000000", "123", "12ABC34501DE36", [], {}, True, "x" * 10_000],
)
async def test_an_invalid_cnpj_is_rejected(sample, cnpj):
    answer = await check(sample, cnpj)
    assert (answer.status, set(answer.body)) == (400, {"status", "message"}), answer.raw
    assert answer.body["message"].startswith("CNPJ ")


async def test_the_built_in_sandbox_is_a_bureau(new_sample, http):
    sample = await new_sample()
    bureau.set_own_address(str(http.make_url("")).rstrip("/"))
    try:
        async with outgoing_client(allows_private=True, trust=system_trust()):
            answer = await check(sample)
            repeated = await check(await new_sample())
    finally:
        bureau.set_own_address(None)
    assert (answer.status, answer.body["source"]) == (200, "sandbox")
    assert 0 <= int(answer.body["score"]) <= 1000
    assert repeated.body["score"] == answer.body["score"]
    assert answer.body["risk"] in ("low", "medium", "high")


async def test_an_unavailable_sandbox_is_503(sample):
    async with outgoing_client(allows_private=True, trust=system_trust()):
        assert (await check(sample)).status == 503


async def test_a_credit_check_is_audited(new_sample, fake_bureau):
    sample = await new_sample(credit_bureau_url=fake_bureau.url)
    await check(sample)
    [entry] = await sample.rows("select * from audit_entries where action = 'credit.checked'")
    assert (entry["subject_id"], entry["user_id"]) == (OTHER_CNPJ, sample.owner.number)


@pytest.mark.parametrize(
    "url", ["ftp://x.example", "http://169.254.169.254/", "not an address", "https://u:p@x.example"]
)
async def test_an_unsafe_bureau_url_is_rejected(sample, url):
    async with outgoing_client(allows_private=False, trust=system_trust()):
        with active_scope(sample.scope), pytest.raises(ValidationFailed):
            await update_settings(sample.scope, {"credit_bureau_url": url})
