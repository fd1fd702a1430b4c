"""Check the vendor app: access to a vendor's own data only (docs/reference/legacy.md#vendor-app)."""

from typing import Any

import pytest

from domain.catalog.attachments import set_required_products
from kernel.scope import active_scope
from models.tables.marketplace import Vendor
from rest_facade.legacy import routes
from rest_facade.routing import Credential
from tests.harness.http import Response
from tests.harness.records import UNKNOWN_ID, UNKNOWN_NUMBER
from tests.harness.sample_store import SampleStore
from tests.media.test_images import add_file, graphql

ROUTES = [route for route in routes() if route.credential is Credential.VENDOR]
EVERY_ROUTE = pytest.mark.parametrize("route", ROUTES, ids=[f"{r.method} {r.path}" for r in ROUTES])
MISSING = "Authentication required. Use Basic with email and API key or a Bearer JWT."
VENDORS_ONLY = "Forbidden: vendor scope required"


def path_to(sample: SampleStore, route: Any) -> str:
    number = sample.order if "order" in route.path else sample.mug
    return route.path.replace("{id}", str(number))


async def call_route(sample: SampleStore, route: Any, **kwargs: Any) -> Response:
    body: Any = {} if route.method in ("POST", "PUT") else None
    return await sample.request(route.method, path_to(sample, route), body, **kwargs)


async def as_vendor(sample: SampleStore, method: str, path: str, body: Any = None, **kwargs: Any) -> Response:
    return await sample.request(method, f"/api/{path}", body, **{"by": sample.vendor_user} | kwargs)


async def row(sample: SampleStore, table: str, number: int) -> dict[str, Any]:
    [record] = await sample.rows(f"select * from {table} where id = $1", number)
    return dict(record)


# --- Access ------------------------------------------------------------------------------------------------------------------


@EVERY_ROUTE
async def test_a_route_is_for_vendors_only(sample, other_sample, route):
    anonymous = await call_route(sample, route, auth=None)
    assert (anonymous.status, anonymous.body) == (401, {"status": 401, "message": MISSING})
    for person, auth in ((sample.caio, "bearer"), (sample.owner, "basic"), (sample.staff, "basic")):
        answer = await call_route(sample, route, by=person, auth=auth)
        assert (answer.status, answer.body) == (403, {"status": 403, "message": VENDORS_ONLY}), (person, auth)
    foreign = await call_route(sample, route, by=sample.vendor_user, at=other_sample)
    assert foreign.status == 401
    foreign = await call_route(sample, route, by=sample.vendor_user, auth="bearer", at=other_sample)
    assert foreign.status == 403


@pytest.mark.parametrize("setting", ["N", "Y"])
async def test_the_app_does_not_depend_on_legacy_vendor_keys(new_sample, setting):
    sample = await new_sample(legacy_vendor_keys=setting)
    assert (await as_vendor(sample, "GET", "vendor_products")).status == 200
    assert (await as_vendor(sample, "GET", "products")).status == (200 if setting == "Y" else 403)
    assert (await as_vendor(sample, "GET", "users")).status == 403


@EVERY_ROUTE
async def test_unknown_and_foreign_ids_are_not_found(sample, route):
    if "{id}" not in route.path:
        return
    entity = "Order" if "order" in route.path else "Product"
    foreign = await sample.place_order((sample.plate, 1), user=sample.caio.id)
    foreign_ids = [foreign, foreign.id] if entity == "Order" else [sample.plate, sample.plate.id]
    for record_id in (*foreign_ids, UNKNOWN_ID, UNKNOWN_NUMBER, "0", "-1", "abc", "9" * 40, "%20"):
        path = route.path.replace("{id}", str(record_id))
        body = {"status": "P", "price": "1"} if route.method == "PUT" else None
        answer = await sample.request(route.method, path, body, by=sample.vendor_user)
        message = f"{entity} not found"
        assert (answer.status, answer.body) == (404, {"status": 404, "message": message}), record_id


@EVERY_ROUTE
async def test_a_malformed_body_changes_nothing(sample, route):
    if route.method not in ("POST", "PUT"):
        return
    for data in (b"{broken", b"[1, 2]", b'{"product": "a\\u0000b"}', b'{"a": 1e999}', b"{" + b'"a":{' * 99):
        answer = await sample.request(
            route.method, path_to(sample, route), data=data, by=sample.vendor_user,
            headers={"Content-Type": "application/json"},
        )  # fmt: skip
        assert (answer.status, answer.body["status"]) == (400, 400), data


# --- Start and dashboard -----------------------------------------------------------------------------------------------------


async def test_vendor_start_returns_the_configuration(sample):
    answer = await as_vendor(sample, "GET", "vendor_start")
    assert answer.status == 200
    body = answer.body
    assert set(body) == {
        "app", "store", "languages", "currencies", "statuses", "menus", "permissions", "support",
    }  # fmt: skip
    assert set(body["app"]) == {"name", "version", "min_version"}
    assert body["store"] == {"name": "Loja", "currency": "BRL", "logo": ""}
    assert body["currencies"] == [{"currency_code": "BRL", "symbol": "R$"}]
    assert {status["status"] for status in body["statuses"]["orders"]} >= set("OPCDFIB")
    assert {status["status"] for status in body["statuses"]["products"]} == set("ADHP")
    assert body["support"] == {"email": "", "phone": ""}
    assert all(menu["route"] in {route.path.split("/")[2] for route in ROUTES} for menu in body["menus"])
    assert "manage_products" in body["permissions"]


async def test_vendor_start_returns_the_store_settings(new_sample):
    sample = await new_sample(
        support_email="ajuda@example.com", support_phone="1130000000", logo_url="https://x.example/l.png"
    )
    body = (await as_vendor(sample, "GET", "vendor_start")).body
    assert body["support"] == {"email": "ajuda@example.com", "phone": "1130000000"}
    assert body["store"]["logo"] == "https://x.example/l.png"


async def test_vendor_start_returns_the_address_of_a_logo_that_is_a_file(new_sample):
    sample = await new_sample()
    file = await add_file(sample)
    text = 'mutation { store_update(input: { logo: { media_id: "%s" } }) { logo { url } } }'
    shown = (await graphql(sample, text % file.id))["store_update"]["logo"]["url"]
    assert shown.startswith(f"http://{sample.host}/media/")
    assert (await as_vendor(sample, "GET", "vendor_start")).body["store"]["logo"] == shown


async def test_the_dashboard_sums_the_vendors_own_lines(sample):
    # Two mugs 99.80 (their shipping is the store's), a mug of a shared order 49.90, a paid e-book 15.00.
    await sample.execute(
        "update vendors set commission = '10.00', commission_type = 'P' where id = $1", sample.vendor.number
    )
    body = (await as_vendor(sample, "GET", "vendor_dashboard")).body
    assert set(body) == {
        "sales", "orders_count", "average_ticket", "balance", "products", "orders_by_status", "graph",
    }  # fmt: skip
    assert (body["sales"], body["orders_count"], body["average_ticket"]) == ("164.70", "3", "54.90")
    assert body["balance"] == "15.00", "the orders were placed before the rate"
    assert body["products"] == {"total": "3", "active": "2", "out_of_stock": "1"}
    assert body["orders_by_status"] == dict.fromkeys("OPCDFIB", "0") | {"O": "2", "P": "1"}
    [day] = body["graph"]
    assert (day["total"], day["orders"]) == ("164.70", "3")
    assert int(day["date"]) % 86_400 == 0
    rival = (await as_vendor(sample, "GET", "vendor_dashboard", by=sample.rival_vendor_user)).body
    assert (rival["sales"], rival["orders_count"], rival["balance"]) == ("75.00", "1", "0.00")


async def test_cancelled_orders_are_not_sales(sample):
    await sample.put(f"/api/orders/{sample.order}", {"status": "I"})
    body = (await as_vendor(sample, "GET", "vendor_dashboard")).body
    assert (body["sales"], body["orders_count"]) == ("64.90", "2")
    assert body["orders_by_status"]["I"] == "1"


@pytest.mark.parametrize(
    "query, count",
    [
        ("", "3"),
        ("?period=today", "3"),
        ("?period=this_month", "3"),
        ("?period=last_month", "0"),
        ("?period=LM", "0"),
        ("?period=custom&time_from=0&time_to=1", "0"),
        ("?time_from=0", "3"),
        ("?time_from=99999999999", "0"),
        ("?period[]=today", "3"),
    ],
)
async def test_the_dashboard_accepts_the_periods_of_orders(sample, query, count):
    answer = await as_vendor(sample, "GET", f"vendor_dashboard{query}")
    assert (answer.status, answer.body["orders_count"]) == (200, count)


@pytest.mark.parametrize("query", ["period=nonsense", "time_from=x"])
async def test_the_dashboard_rejects_unreadable_dates(sample, query):
    answer = await as_vendor(sample, "GET", f"vendor_dashboard?{query}")
    assert (answer.status, answer.body["status"]) == (400, 400)


async def test_a_vendor_without_orders_has_an_empty_dashboard(sample):
    vendor = await sample.add(Vendor, name="Vazia", email="v@example.com")
    person = await sample.add_user(user_type="V", vendor_id=vendor.number)
    body = (await as_vendor(sample, "GET", "vendor_dashboard", by=person)).body
    assert (body["sales"], body["average_ticket"], body["balance"], body["graph"]) == (
        "0.00",
        "0.00",
        "0.00",
        [],
    )
    assert body["products"] == {"total": "0", "active": "0", "out_of_stock": "0"}


# --- Company and profile -----------------------------------------------------------------------------------------------------


async def test_the_company_is_the_store_record(sample):
    company = (await as_vendor(sample, "GET", "vendor_company")).body
    assert (company["company_id"], company["company"]) == (str(sample.vendor), "Ateliê Sol")
    assert company == (await sample.get(f"/api/vendors/{sample.vendor}")).body
    assert {
        "email",
        "status",
        "phone",
        "zipcode",
        "CNPJ",
        "commission",
        "commission_type",
        "timestamp",
    } <= set(company)
    assert company["average_rating"] == "5.00"


async def test_a_vendor_updates_only_the_contact_data_of_its_company(sample):
    before = await row(sample, "vendors", sample.vendor.number)
    rival = await row(sample, "vendors", sample.rival.number)
    allowed = {
        "company": "Ateliê Lua Nova", "email": "lua@example.com", "phone": "1130000000", "address": "Rua B, 2",
        "city": "Olinda", "state": "PE", "country": "BR", "zipcode": "53020-140",
        "url": "https://lua.example", "shippings": {"1": {"status": "A"}},
    }  # fmt: skip
    ignored = {
        "company_id": sample.rival.number, "commission": "0.01", "commission_type": "X", "status": "Z", "CNPJ": "bad",
        "timestamp": "1", "average_rating": "5", "user_type": "A", "privileges": ["all"], "is_root": "Y",
    }  # fmt: skip
    answer = await as_vendor(sample, "PUT", "vendor_company", allowed | ignored)
    assert (answer.status, answer.body) == (200, {"company_id": str(sample.vendor)})
    after = await row(sample, "vendors", sample.vendor.number)
    changed = {name for name in after if after[name] != before[name]} - {"updated_at"}
    assert changed <= {
        "name",
        "email",
        "phone",
        "address",
        "city",
        "state",
        "country",
        "zipcode",
        "url",
        "shippings",
    }
    assert (after["name"], after["zipcode"], after["city"]) == ("Ateliê Lua Nova", "53020140", "Olinda")
    assert await row(sample, "vendors", sample.rival.number) == rival


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "data:text/html,x", " JAVASCRIPT:x", "https://x\ny", "//x", "https:///x"]
)
async def test_a_companys_url_is_http_or_https(sample, url):
    answer = await as_vendor(sample, "PUT", "vendor_company", {"url": url})
    assert answer.status == 400
    for valid in ("https://lua.example/a?b=1#c", "http://lua.example", ""):
        assert (await as_vendor(sample, "PUT", "vendor_company", {"url": valid})).status == 200


@pytest.mark.parametrize(
    "path, change", [("vendor_company", {"city": "Olinda"}), ("vendor_profile", {"lastname": "Reis"})]
)
async def test_what_the_record_has_from_before_may_be_sent_back(sample, path, change):
    await sample.execute("UPDATE vendors SET email = ''")
    await sample.execute("UPDATE users SET phone = 'ligue'")
    before = (await as_vendor(sample, "GET", path)).body
    answer = await as_vendor(sample, "PUT", path, before | change)
    assert answer.status == 200, answer.raw
    assert (await as_vendor(sample, "GET", path)).body == before | change


async def test_a_product_in_another_language_keeps_its_texts(new_sample):
    sample = await new_sample(legacy_lists="cscart")
    path = f"vendor_product/{sample.mug}"
    before = (await as_vendor(sample, "GET", path)).body
    answer = await as_vendor(sample, "PUT", f"{path}?sl=en", {"product": "Mug", "weight": "0.700"})
    assert (answer.status, answer.headers["X-Ignored-Fields"]) == (200, "product")
    after = (await as_vendor(sample, "GET", path)).body
    assert (after["product"], after["weight"]) == (before["product"], "0.700")


@pytest.mark.parametrize("body", [{"email": "x"}, {"company": ""}, {"company": ["x"]}, {"city": {"a": 1}}])
async def test_invalid_contact_data_is_rejected(sample, body):
    before = await row(sample, "vendors", sample.vendor.number)
    answer = await as_vendor(sample, "PUT", "vendor_company", body)
    assert (answer.status, answer.body["status"]) == (400, 400)
    assert next(iter(body)) in answer.body["message"]
    assert await row(sample, "vendors", sample.vendor.number) == before


async def test_the_profile_is_the_callers_user_record(sample):
    mine = (await as_vendor(sample, "GET", "vendor_profile")).body
    assert mine == (await sample.get(f"/api/users/{sample.vendor_user}")).body


async def test_a_vendor_updates_only_name_and_credentials_of_its_profile(sample):
    before = await row(sample, "users", sample.vendor_user.number)
    allowed = {"email": "nova@example.com", "firstname": "Nina", "lastname": "Sá", "phone": "81 99999-0000"}
    ignored = {
        "user_id": sample.owner.number, "user_type": "A", "status": "D", "company_id": "nonsense", "CNPJ": "bad",
        "CPF": "bad", "company": "x", "is_root": "Y", "points": 1_000, "usergroups": [1], "privileges": ["all"],
        "timestamp": {},
    }  # fmt: skip
    answer = await as_vendor(sample, "PUT", "vendor_profile", allowed | ignored)
    assert (answer.status, answer.body) == (200, {"user_id": str(sample.vendor_user)})
    after = await row(sample, "users", sample.vendor_user.number)
    changed = {name for name in after if after[name] != before[name]}
    assert changed - {"updated_at", "search", "name", "name_folded", "last_login_at"} == set(allowed)
    assert (after["email"], after["phone"]) == ("nova@example.com", "81999990000")


async def test_a_new_password_revokes_the_tokens(sample):
    assert (await as_vendor(sample, "GET", "vendor_profile", auth="bearer")).status == 200
    assert (await as_vendor(sample, "PUT", "vendor_profile", {"password": "another long one"})).status == 200
    assert (await as_vendor(sample, "GET", "vendor_profile", auth="bearer")).status == 401


async def test_new_credentials_are_mailed_to_the_previous_address(sample):
    old = (await row(sample, "users", sample.vendor_user.number))["email"]
    body = {"email": "nova@example.com", "password": "another long one"}
    assert (await as_vendor(sample, "PUT", "vendor_profile", body)).status == 200
    sent = await sample.rows("select kind, recipient from mails where kind <> 'order_placed' order by id")
    assert [tuple(mail) for mail in sent] == [("email_changed", old), ("password_changed", old)]


async def test_a_profile_tries_at_most_five_emails_a_minute(sample):
    answers = [await as_vendor(sample, "PUT", "vendor_profile", {"email": sample.caio.email}) for _ in range(6)]
    assert [answer.status for answer in answers] == [400] * 5 + [429]


@pytest.mark.parametrize(
    "body",
    [
        {"email": "x"},
        {"email": "caio@example.com"},
        {"password": "short"},
        {"phone": "none"},
        {"firstname": []},
    ],
)
async def test_an_invalid_profile_is_rejected(sample, body):
    before = await row(sample, "users", sample.vendor_user.number)
    answer = await as_vendor(sample, "PUT", "vendor_profile", body)
    assert (answer.status, answer.body["status"]) == (400, 400)
    assert await row(sample, "users", sample.vendor_user.number) == before


# --- Categories and products -------------------------------------------------------------------------------------------------


async def test_categories_are_listed_in_both_forms(new_sample):
    for form in ("contract", "cscart"):
        sample = await new_sample(legacy_lists=form)
        body = (await as_vendor(sample, "GET", "vendor_categories")).body
        assert [category["category"] for category in body["categories"]] == ["Casa", "Cozinha", "Oculta"], form
        assert body["params"]["total_items"] == 3, form


async def test_products_are_the_vendors_own_in_both_forms(new_sample):
    for form in ("contract", "cscart"):
        sample = await new_sample(legacy_lists=form)
        own = {str(sample.mug), str(sample.ebook), str(sample.secret)}
        body = (await as_vendor(sample, "GET", "vendor_products")).body
        assert {product["product_id"] for product in body["products"]} == own, form
        assert body["params"]["total_items"] == 3, form
        body = (await as_vendor(sample, "GET", "vendor_products?status=active&items_per_page=1")).body
        assert len(body["products"]) == 1, form
        assert isinstance(body["products"], dict if form == "contract" else list)
        assert body["params"]["total_items"] == 2, form
        body = (await as_vendor(sample, "GET", f"vendor_products?company_id={sample.rival}")).body
        assert not body["products"], form


async def test_a_product_is_created_read_and_updated(sample):
    body = {"product": "Bule", "price": "99.90", "amount": 3, "category_ids": [sample.kitchen.number]}
    created = await as_vendor(sample, "POST", "vendor_product", body)
    assert (created.status, set(created.body)) == (201, {"product_id"})
    number = created.body["product_id"]
    product = (await as_vendor(sample, "GET", f"vendor_product/{number}")).body
    assert product == (await sample.get(f"/api/products/{number}")).body
    assert (product["company_id"], product["price"], product["amount"]) == (
        str(sample.vendor),
        "99.90",
        "3",
    )
    answer = await as_vendor(sample, "PUT", f"vendor_product/{number}", {"price": 50, "status": "hidden"})
    assert (answer.status, answer.body) == (200, {"product_id": number})
    product = (await as_vendor(sample, "GET", f"vendor_product/{number}")).body
    assert (product["price"], product["status"], product["product"]) == ("50.00", "H", "Bule")


@pytest.mark.parametrize(
    "body, message",
    [
        ({}, "product (name) is required"),
        ({"product": "x"}, "price is required"),
        ({"product": "x", "price": "1.999"}, None),
        ({"product": "x", "price": "-1"}, None),
        ({"product": "x", "price": "1", "amount": 10**30}, None),
        ({"product": "x", "price": "1", "status": "Z"}, None),
        ({"product": "x", "price": "1", "category_ids": [UNKNOWN_NUMBER]}, None),
    ],
)
async def test_an_invalid_product_is_rejected(sample, body, message):
    answer = await as_vendor(sample, "POST", "vendor_product", body)
    assert (answer.status, answer.body["status"]) == (400, 400)
    assert message is None or answer.body["message"] == message


async def test_a_vendor_cannot_set_the_vendor_or_approval_of_a_product(new_sample):
    sample = await new_sample(vendor_products_need_approval=True)
    for company in (sample.rival.number, "nonsense", {"a": 1}):
        body = {"product": "x", "price": 1, "company_id": company, "status": "A"}
        created = await as_vendor(sample, "POST", "vendor_product", body)
        product = await row(sample, "products", int(created.body["product_id"]))
        assert (product["vendor_id"], product["status"]) == (sample.vendor.number, "P"), company
        answer = await as_vendor(
            sample, "PUT", f"vendor_product/{product['id']}", {"status": "A", "company_id": company}
        )
        assert answer.status == 200, company
        after = await row(sample, "products", product["id"])
        assert (after["vendor_id"], after["status"]) == (sample.vendor.number, "P"), company


async def test_a_bulk_delete_deletes_own_products_and_reports_the_others(sample):
    product_ids = [
        sample.mug.number,
        sample.ebook.id,
        str(sample.plate),
        UNKNOWN_NUMBER,
        "abc",
        sample.mug.id,
    ]
    answer = await as_vendor(sample, "POST", "vendor_products", {"product_ids": product_ids})
    assert answer.status == 200
    assert answer.body == {
        "deleted": [str(sample.mug), str(sample.ebook)],
        "not_found": [str(sample.plate), str(UNKNOWN_NUMBER), "abc"],
    }
    assert (await as_vendor(sample, "GET", f"vendor_product/{sample.mug}")).status == 404
    assert (await row(sample, "products", sample.plate.number))["deleted_at"] is None
    events = await sample.rows("select name from outbox_events where name = 'product.deleted'")
    assert len(events) == 2
    repeated = await as_vendor(sample, "POST", "vendor_products", {"product_ids": str(sample.mug)})
    assert repeated.body == {"deleted": [], "not_found": [str(sample.mug)]}


@pytest.mark.parametrize("product_ids", [None, [], "", {}, [[1]], [{"a": 1}], [True], [None], list(range(1, 600)), 1.5])
async def test_an_invalid_bulk_delete_deletes_nothing(sample, product_ids):
    body = {} if product_ids is None else {"product_ids": product_ids}
    answer = await as_vendor(sample, "POST", "vendor_products", body)
    if product_ids == 1.5:
        assert (answer.status, answer.body) == (200, {"deleted": [], "not_found": ["1.5"]})
    else:
        assert (answer.status, "product_ids" in answer.body["message"]) == (400, True)
    assert (await row(sample, "products", sample.mug.number))["deleted_at"] is None


# --- Orders ------------------------------------------------------------------------------------------------------------------


async def test_orders_are_those_with_lines_of_the_vendor(sample):
    body = (await as_vendor(sample, "GET", "vendor_orders")).body
    assert {order["order_id"] for order in body["orders"]} == {
        str(sample.order), str(sample.shared_order), str(sample.guest_order),
    }  # fmt: skip
    body = (await as_vendor(sample, "GET", "vendor_orders?status=open", by=sample.rival_vendor_user)).body
    [order] = body["orders"].values()
    assert (order["order_id"], order["total"]) == (str(sample.shared_order), "75.00")
    assert [line["product_id"] for line in order["products"].values()] == [str(sample.plate)]


async def test_an_order_is_returned_without_staff_fields(sample):
    order = (await as_vendor(sample, "GET", f"vendor_order/{sample.order}")).body
    assert order["order_id"] == str(sample.order)
    assert not {"details", "ip_address"} & set(order)
    assert order == (await as_vendor(sample, "GET", f"vendor_order/{sample.order.id}")).body


async def test_an_own_order_follows_the_status_transitions(sample):
    path = f"vendor_order/{sample.order}"
    answer = await as_vendor(sample, "PUT", path, {"status": "processed"})
    assert (answer.status, answer.body) == (200, {"order_id": str(sample.order)})
    assert (await as_vendor(sample, "PUT", path, {"status": "P"})).status == 200  # the current status
    for status, allowed in (("I", ["C", "B"]), ("O", ["C", "B"]), ("D", ["C", "B"])):
        refused = await as_vendor(sample, "PUT", path, {"status": status})
        assert (refused.status, refused.body["allowed"]) == (422, allowed)
    assert (await as_vendor(sample, "PUT", path, {"status": "B"})).status == 200
    assert (await as_vendor(sample, "PUT", path, {"status": "I"})).status == 200
    assert (await as_vendor(sample, "PUT", path, {"status": "O"})).status == 422
    history = await sample.rows(
        "select from_status, to_status, forced, actor_kind from order_status_changes where order_id = $1 order by id",
        sample.order.number,
    )
    assert [tuple(step) for step in history[1:]] == [
        ("O", "P", False, "vendor"), ("P", "B", False, "vendor"), ("B", "I", False, "vendor"),
    ]  # fmt: skip


async def test_a_tracking_number_creates_one_shipment(sample):
    path = f"vendor_order/{sample.order}"
    body = {"status": "C", "tracking_number": "BR123", "carrier": "Correios"}
    for repetition in range(2):
        assert (await as_vendor(sample, "PUT", path, body)).status == 200, repetition
    [shipment] = await sample.rows("select * from shipments where order_id = $1", sample.order.number)
    assert (shipment["tracking_number"], shipment["carrier"]) == ("BR123", "Correios")
    another = await as_vendor(sample, "PUT", path, {"tracking_number": "BR456"})
    assert (another.status, another.body["message"]) == (400, "every item of the order has been shipped")


async def test_a_vendor_ships_only_its_own_lines_of_a_shared_order(sample):
    path = f"vendor_order/{sample.shared_order}"
    before = await row(sample, "orders", sample.shared_order.number)
    for body in ({"status": "P"}, {"status": "O"}, {"status": "C", "tracking_number": "X"}):
        answer = await as_vendor(sample, "PUT", path, body)
        assert answer.status == 403, body
    assert await row(sample, "orders", sample.shared_order.number) == before
    assert (await as_vendor(sample, "PUT", path, {"tracking_number": "BR1"})).status == 200
    sent = await sample.rows(
        "select l.product_id, s.quantity from shipment_lines s join order_lines l on l.id = s.order_line_id"
        " where l.order_id = $1", sample.shared_order.number,
    )  # fmt: skip
    assert [tuple(line) for line in sent] == [(sample.mug.number, 1)]
    assert (await row(sample, "orders", sample.shared_order.number))["status"] == "O"
    rival = await as_vendor(sample, "PUT", path, {"tracking_number": "BR2"}, by=sample.rival_vendor_user)
    assert rival.status == 200
    assert await sample.value("select count(*) from shipments where order_id = $1", sample.shared_order.number) == 2


async def test_a_shipment_of_a_cancelled_order_changes_nothing(sample):
    answer = await as_vendor(sample, "PUT", f"vendor_order/{sample.order}", {"status": "I", "tracking_number": "X"})
    assert answer.status == 422
    assert (await row(sample, "orders", sample.order.number))["status"] == "O"


@pytest.mark.parametrize(
    "body", [{}, {"status": ""}, {"carrier": "x"}, {"status": "Z"}, {"status": 1}, {"status": "P", "tracking_number": []},
             {"tracking_number": "x" * 300}]
)  # fmt: skip
async def test_an_invalid_order_update_is_rejected(sample, body):
    before = await row(sample, "orders", sample.order.number)
    answer = await as_vendor(sample, "PUT", f"vendor_order/{sample.order}", body)
    assert (answer.status, answer.body["status"]) == (400, 400)
    assert await row(sample, "orders", sample.order.number) == before


# --- Statements --------------------------------------------------------------------------------------------------------------

STATEMENTS = {
    # Languages, statuses.
    "vendor_start": 2,
    "vendor_dashboard": 3,
    "vendor_company": 1,
    "vendor_profile": 1,
    "vendor_categories": 2,
    "vendor_products": 3,
    "vendor_orders": 3,
    "vendor_product_options?product_id={mug}": 3,
    "vendor_product_attachments?product_id={mug}": 2,
    "vendor_required_products?product_id={mug}": 3,
}


@pytest.mark.parametrize("path", STATEMENTS)
async def test_statement_counts_do_not_depend_on_the_number_of_rows(sample, path):
    maximum = STATEMENTS[path]
    path = path.format(mug=sample.mug)
    await as_vendor(sample, "GET", path)  # fills the credential cache
    few = (await as_vendor(sample, "GET", path)).statements
    for _ in range(12):
        await sample.place_order((await sample.add_product(), 1), user=sample.caio.id)
    many = (await as_vendor(sample, "GET", path)).statements
    assert few == many <= maximum


# --- Product details ---------------------------------------------------------------------------------------------------------


async def test_options_attachments_and_required_products_of_an_own_product(sample):
    options = (await as_vendor(sample, "GET", f"vendor_product_options?product_id={sample.mug}")).body["options"]
    assert {option["option_name"] for option in options.values()} >= {"Tamanho", "Estampa"}
    for number, option in options.items():
        assert option == (await sample.get(f"/api/options/{number}")).body
    files = (await as_vendor(sample, "GET", f"vendor_product_attachments?product_id={sample.mug.id}")).body
    [file] = files["attachments"]
    assert file | {
        "description": "", "filename": "cuidados.pdf", "url": "https://files.example.com/c.pdf", "filesize": "9",
    } == file  # fmt: skip
    assert set(file) == {"attachment_id", "description", "filename", "url", "filesize"}
    with active_scope(sample.scope):
        await set_required_products(sample.scope, sample.mug.number, [sample.ebook.number, sample.plate.number])
    required = (await as_vendor(sample, "GET", f"vendor_required_products?product_id={sample.mug}")).body
    [product] = required["required_products"]  # the plate is another vendor's
    rows = (await as_vendor(sample, "GET", f"vendor_products?product_id={sample.ebook}")).body["products"]
    assert product == rows[str(sample.ebook)]


@pytest.mark.parametrize("part", ["product_options", "product_attachments", "required_products"])
async def test_details_of_other_products_are_not_found(sample, part):
    for product_id in (sample.plate, sample.plate.id, UNKNOWN_ID, UNKNOWN_NUMBER, "abc", "0", "%00"):
        answer = await as_vendor(sample, "GET", f"vendor_{part}?product_id={product_id}")
        assert answer.status == (400 if product_id == "%00" else 404), product_id
    for query in ("", "?product_id=", "?product_id[]=1"):
        answer = await as_vendor(sample, "GET", f"vendor_{part}{query}")
        assert (answer.status, answer.body) == (400, {"status": 400, "message": "product_id is required"}), query
    empty = await as_vendor(sample, "GET", f"vendor_{part}?product_id={sample.secret}")
    [rows] = empty.body.values()
    assert not rows


async def test_fields_reserved_for_staff_are_ignored_on_the_entity_routes(new_sample):
    sample = await new_sample(legacy_vendor_keys="Y")
    reserved = {"company_id": {"a": 1}, "commission": "x", "commission_type": "?", "CNPJ": "1"}
    assert (await as_vendor(sample, "PUT", f"products/{sample.mug}", {"price": 1} | reserved)).status == 200
    answer = await as_vendor(sample, "PUT", f"stores/{sample.vendor}", {"city": "Olinda", "status": "Z"} | reserved)
    assert answer.status == 200, answer.raw
    vendor = await row(sample, "vendors", sample.vendor.number)
    assert (vendor["city"], vendor["status"], vendor["commission"]) == ("Olinda", "A", "0.00")
