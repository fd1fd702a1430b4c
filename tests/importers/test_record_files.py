"""`vitrine import csv` and `jsonl` with customers and orders (docs/reference/bulk.md#files-of-records)."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from domain.orders.deletion import delete_order
from kernel.scope import Store
from models.connection import database
from server.importers import record_files
from server.importers.customer_files import CUSTOMERS
from server.importers.olist_files import ImportFileError
from server.importers.order_files import ORDERS
from tests.harness.records import add_product, add_user, add_vendor, insert
from tests.harness.row_versions import changed_tables, row_versions
from tests.harness.scopes import rows, system_scope

KINDS = {kind.name: kind for kind in (CUSTOMERS, ORDERS)}
CEP = "01310-100"


async def run(store: Store, folder: Path, kind: str, content: str | bytes, format_: str = "csv", **options: Any) -> Any:
    path = folder / f"{kind}.{format_}"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return await record_files.run(KINDS[kind], path, format_, store.public_id, progress=False, **options)


def jsonl(*records: dict[str, Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


async def table(store: Store, sql: str) -> list[dict[str, Any]]:
    return [dict(row) for row in await rows(store, sql)]


# --- Customers --------------------------------------------------------------------------------------------------------

CUSTOMER_SQL = """
select u.email, u.firstname, u.lastname, u.phone, u.cpf, u.status, u.points, u.password_hash, u.created_at::text,
    u.email_verified_at is not null as verified,
    array(select g.name from usergroup_memberships m join usergroups g on g.tenant_id = m.tenant_id and g.id = m.usergroup_id
        where m.tenant_id = u.tenant_id and m.user_id = u.id) as groups,
    array(select a.street || '/' || a.zipcode || '/' || a.is_default_shipping::text from user_addresses a
        where a.tenant_id = u.tenant_id and a.user_id = u.id order by a.id) as addresses
from users u where u.user_type = 'C' and u.deleted_at is null order by u.id
"""
CUSTOMER_CSV = (
    "email,name,phone,cpf,status,points,usergroups,created_at,address_street,address_zipcode\n"
    f"ANA@Example.com,Ana de Souza,(11) 98765-4321,529.982.247-25,A,120,Atacado,2020-01-02T03:04:05Z,Rua A,{CEP}\n"
    f"ana@example.com,,,,,,,,Rua B,{CEP}\n"
    "bia@example.com,Bia,,,disabled,,,,,\n"
)
ANA: dict[str, Any] = {
    "email": "ana@example.com",
    "firstname": "Ana",
    "lastname": "de Souza",
    "phone": "11987654321",
    "cpf": "52998224725",
    "status": "A",
    "points": 120,
    "password_hash": None,
    "created_at": "2020-01-02 03:04:05+00",
    "verified": True,
    "groups": ["Atacado"],
    "addresses": ["Rua A/01310100/true", "Rua B/01310100/false"],
}


@pytest.fixture
async def wholesale(store: Store) -> None:
    await insert(store, "usergroups", name="Atacado", type="C")


@pytest.mark.usefixtures("wholesale")
async def test_customers_of_a_csv_file_get_their_addresses_groups_and_points(store: Store, tmp_path: Path):
    # Rows of one customer follow each other; their e-mails are compared as they are written.
    content = CUSTOMER_CSV.replace("ANA@Example.com", "ana@example.com")
    report = await run(store, tmp_path, "customers", content)
    assert list(report.lines()) == ["customers: 2 read, 2 created, 0 updated, 0 refused"]
    ana, bia = await table(store, CUSTOMER_SQL)
    assert ana == ANA
    assert (bia["firstname"], bia["status"], bia["addresses"], bia["groups"]) == ("Bia", "D", [], [])
    assert await table(store, "select points, balance, reason from point_entries") == [
        {"points": 120, "balance": 120, "reason": "imported"}
    ]


@pytest.mark.usefixtures("wholesale")
async def test_a_jsonl_file_becomes_the_same_customers(store: Store, tmp_path: Path):
    record = {
        "email": "ANA@Example.com", "firstname": "Ana", "lastname": "de Souza", "phone": "(11) 98765-4321",
        "cpf": "529.982.247-25", "points": 120, "usergroups": ["atacado"], "created_at": "2020-01-02T00:04:05-03:00",
        "company_name": None, "addresses": [{"street": "Rua A", "zipcode": CEP}, {"street": "Rua B", "zipcode": CEP}],
    }  # fmt: skip
    report = await run(store, tmp_path, "customers", jsonl(record), "jsonl")
    assert list(report.errors) == []
    assert await table(store, CUSTOMER_SQL) == [ANA]


@pytest.mark.usefixtures("wholesale")
async def test_a_repeated_import_of_customers_changes_nothing_and_updates_what_differs(store: Store, tmp_path: Path):
    content = CUSTOMER_CSV.replace("ANA@Example.com", "ana@example.com")
    await run(store, tmp_path, "customers", content)
    before = await table(store, CUSTOMER_SQL)
    report = await run(store, tmp_path, "customers", content)
    assert list(report.lines()) == ["customers: 2 read, 0 created, 0 updated, 2 unchanged, 0 refused"]
    assert await table(store, CUSTOMER_SQL) == before
    versions = await row_versions(store)
    await run(store, tmp_path, "customers", content)
    assert changed_tables(versions, await row_versions(store)) == []
    changed = "email,lastname,status,points,address_street,address_zipcode\nana@example.com,Lima,D,5,Rua C,01310-100\n"
    report = await run(store, tmp_path, "customers", changed)
    assert report.counts["updated"] == 1
    after = (await table(store, CUSTOMER_SQL))[0]
    # Status, points and time are those that the account has here.
    assert after == {**ANA, "lastname": "Lima", "addresses": [*ANA["addresses"], "Rua C/01310100/false"]}


async def test_importing_customers_sends_no_mail_and_only_asked_for_events(store: Store, tmp_path: Path):
    await run(store, tmp_path, "customers", "email,name\nana@example.com,Ana\n")
    assert await table(store, "select name as event from outbox_events") == []
    await run(store, tmp_path, "customers", "email,name\nana@example.com,Ana Maria\n")
    await run(store, tmp_path, "customers", "email,name\nbia@example.com,Bia\n", events=True)
    assert [row["event"] for row in await table(store, "select name as event from outbox_events order by id")] == [
        "customer.updated",
        "user.registered",
        "customer.created",
    ]
    assert await table(store, "select 1 from mails") == []
    audited = [row["action"] for row in await table(store, "select action from audit_entries order by id")]
    assert audited == ["user.created", "user.updated", "user.created"]


@pytest.mark.parametrize(
    "line, error",
    [
        ("x,Ana,,,,", "customers.csv:2: email: email is 'x'"),
        (",Ana,,,,", "customers.csv:2: email: email is required"),
        ("b@example.com,B,9,,,", "customers.csv:2: cpf: cpf is '9'; expected a CPF"),
        ("b@example.com,B,,Sem,,", "customers.csv:2: usergroups: the store has no usergroup 'Sem' of customers"),
        ("b@example.com,B,,,-1,", "customers.csv:2: points: points is -1"),
        ("b@example.com,B,,,1.5,", "customers.csv:2: points: is '1.5'; expected a whole number"),
        ("b@example.com,B,,,,123", "customers.csv:2: address_zipcode: zipcode is '123'"),
        ("b@example.com,B,,", "customers.csv:2: has 4 values; expected 6"),
        ("root@example.com,B,,,,", "customers.csv:2: email: email is that of an account that is not a customer's"),
    ],
)
async def test_a_wrong_customer_is_refused_and_the_others_are_imported(
    store: Store, tmp_path: Path, line: str, error: str
):
    await add_user(store, email="root@example.com", user_type="A")
    content = f"email,name,cpf,usergroups,points,address_zipcode\n{line}\nana@example.com,Ana,,,,\n"
    report = await run(store, tmp_path, "customers", content)
    assert [row["email"] for row in await table(store, CUSTOMER_SQL)] == ["ana@example.com"]
    assert report.failed == 1
    assert report.errors[0].startswith(error), report.errors


@pytest.mark.parametrize(
    "record, error",
    [
        ({"email": 5}, "customers.jsonl:1: email: email is 5"),
        ({"addresses": {}}, "customers.jsonl:1: addresses: is {}; expected a list of objects"),
        ({"addresses": [{}, {"zipcode": CEP, "color": 1}]}, "customers.jsonl:1: addresses[1].color: is unknown"),
        (
            {"addresses": [{"zipcode": CEP}, {"zipcode": "1"}]},
            "customers.jsonl:1: addresses[1].zipcode: zipcode is '1'",
        ),
        ({"addresses": [{"zipcode": CEP, "street": str(n)} for n in range(51)]}, "customers.jsonl:1: addresses: "),
        ({"usergroups": "Atacado"}, "customers.jsonl:1: usergroups: is 'Atacado'; expected a list of names"),
        ({"created_at": "2999-01-01"}, "customers.jsonl:1: created_at: is '2999-01-01'; expected a time in the past"),
        ({"created_at": "0001-01-01T00:00:00+23:00"}, "customers.jsonl:1: created_at: is '0001"),
        ({"created_at": 5}, "customers.jsonl:1: created_at: is 5"),
        ({"firstname": ["x"]}, "customers.jsonl:1: firstname: "),
        ({"password": "x"}, "customers.jsonl:1: password: is unknown"),
    ],
)
async def test_a_wrong_member_of_a_customer_is_named(store: Store, tmp_path: Path, record: dict[str, Any], error: str):
    report = await run(store, tmp_path, "customers", jsonl({"email": "ana@example.com", **record}), "jsonl")
    assert await table(store, CUSTOMER_SQL) == []
    assert report.errors[0].startswith(error), report.errors


async def test_a_name_that_the_file_decomposes_is_the_one_of_the_store(store: Store, tmp_path: Path) -> None:
    await insert(store, "usergroups", name="Atacadão", type="C")
    await insert(store, "payment_methods", name="Cartão")
    customer = {"email": "ana@example.com", "usergroups": ["Atacadão"]}
    line = {"name": "Avulso", "quantity": 1, "price": "5"}
    order = {"number": "1", "status": "O", "created_at": "2021-05-06", "total": "5", "payment_method": "Cartão"}
    for kind, record in (("customers", customer), ("orders", {**order, "lines": [line]})):
        decomposed = unicodedata.normalize("NFD", json.dumps(record, ensure_ascii=False))
        report = await run(store, tmp_path, kind, decomposed, "jsonl")
        assert report.errors == [], kind


async def test_a_customer_named_twice_in_a_batch_is_imported_once(store: Store, tmp_path: Path):
    content = "email,name\nana@example.com,Ana\nbia@example.com,Bia\nANA@example.com,Outra\n"
    report = await run(store, tmp_path, "customers", content)
    assert report.errors == ["customers.csv:4: email: email is that of an earlier record"]
    assert [row["firstname"] for row in await table(store, CUSTOMER_SQL)] == ["Ana", "Bia"]


async def test_lines_of_one_record_that_contradict_each_other_are_refused(store: Store, tmp_path: Path):
    content = "email,name,address_zipcode\nana@example.com,Ana,01310-100\nana@example.com,Bia,01310-100\n"
    report = await run(store, tmp_path, "customers", content)
    assert report.errors == ["customers.csv:3: name: is 'Bia', but 'Ana' on line 2"]


# --- Orders -----------------------------------------------------------------------------------------------------------

ORDER_SQL = """
select o.id, o.status, o.stock_state, o.origin, o.imported, o.subtotal_cents, o.discount_cents, o.shipping_cents, o.total_cents,
    o.paid_cents, o.payment_status, o.email, o.firstname, o.user_id is not null as has_customer, o.details, o.created_at::text,
    array(select l.product_code || ':' || l.product_name || ':' || l.quantity || ':' || l.price_cents || ':'
        || (l.product_id is not null)::text || ':' || l.tracked::text from order_lines l
        where l.tenant_id = o.tenant_id and l.order_id = o.id order by l.position) as lines,
    array(select a.kind || ':' || a.city || ':' || a.district from order_addresses a where a.tenant_id = o.tenant_id and a.order_id = o.id
        order by a.kind) as addresses,
    array(select p.kind || ':' || p.amount_cents from payments p where p.tenant_id = o.tenant_id and p.order_id = o.id) as payments,
    array(select h.to_status || ':' || h.reason from order_status_changes h where h.tenant_id = o.tenant_id
        and h.order_id = o.id) as history
from orders o where o.deleted_at is null order by o.id
"""
ORDER_CSV = (
    "number,status,created_at,email,total,discount,shipping,payment_kind,details,line_sku,line_name,line_quantity,line_price,"
    "billing_city,shipping_city,shipping_district\n"
    "#1001,complete,2021-05-06T10:00:00Z,ana@example.com,119.80,10.00,30.00,pix,presente,CAN-1,,2,49.90,Recife,Olinda,Carmo\n"
    "#1001,,,,,,,,,OLD-9,Extinto,1,0.00,,,\n"
    "#1002,O,2021-05-07,,5.00,,,,,,Avulso,1,5.00,,,\n"
)
ORDER = {
    "id": 1,
    "status": "C",
    "stock_state": "N",
    "origin": "import",
    "imported": True,
    "subtotal_cents": 9980,
    "discount_cents": 1000,
    "shipping_cents": 3000,
    "total_cents": 11980,
    "paid_cents": 11980,
    "payment_status": "paid",
    "email": "ana@example.com",
    "firstname": "Ana",
    "has_customer": True,
    "details": "#1001\npresente",
    "created_at": "2021-05-06 10:00:00+00",
    "lines": ["CAN-1:Caneca:2:4990:true:false", "OLD-9:Extinto:1:0:false:false"],
    "addresses": ["B:Recife:", "S:Olinda:Carmo"],
    "payments": ["pix:11980"],
    "history": ["C:imported"],
}


@pytest.fixture
async def shop(store: Store) -> None:
    await add_product(store, sku="CAN-1", name="Caneca", on_hand=7)
    await insert(store, "users", id=1, email="ana@example.com", firstname="Ana", user_type="C")


@pytest.mark.usefixtures("shop")
async def test_orders_of_a_csv_file_are_history(store: Store, tmp_path: Path):
    report = await run(store, tmp_path, "orders", ORDER_CSV)
    assert list(report.lines()) == ["orders: 2 read, 2 created, 0 updated, 0 refused"]
    first, second = await table(store, ORDER_SQL)
    assert first == ORDER
    assert (second["status"], second["payment_status"], second["paid_cents"]) == ("O", "unpaid", 0)
    assert (second["email"], second["has_customer"], second["addresses"]) == ("", False, [])
    # An open order of another shop takes no stock here.
    assert await table(store, "select on_hand, reserved from products") == [{"on_hand": 7, "reserved": 0}]
    assert await table(store, "select 1 from mails union all select 1 from outbox_events") == []


@pytest.mark.usefixtures("shop")
async def test_a_jsonl_file_becomes_the_same_order(store: Store, tmp_path: Path):
    record = {
        "number": "#1001", "status": "C", "created_at": "2021-05-06T10:00:00Z", "email": "ANA@example.com",
        "total": "119.80", "discount_cents": 1000, "shipping": 30, "payment_kind": "pix", "details": "presente", "tax": None,
        "lines": [{"sku": "CAN-1", "quantity": 2, "price": "49.90"}, {"sku": "OLD-9", "name": "Extinto", "quantity": 1, "price": 0}],
        "billing_address": {"city": "Recife"}, "shipping_address": {"city": "Olinda", "district": "Carmo"},
    }  # fmt: skip
    report = await run(store, tmp_path, "orders", jsonl(record), "jsonl")
    assert report.errors == []
    assert await table(store, ORDER_SQL) == [ORDER]


@pytest.mark.usefixtures("shop")
async def test_an_order_that_was_imported_before_is_never_changed(store: Store, tmp_path: Path):
    await run(store, tmp_path, "orders", ORDER_CSV)
    before = await table(store, ORDER_SQL)
    report = await run(store, tmp_path, "orders", ORDER_CSV)
    assert list(report.lines()) == ["orders: 2 read, 0 created, 0 updated, 2 unchanged, 0 refused"]
    report = await run(store, tmp_path, "orders", ORDER_CSV.replace("#1002,O", "#1002,C"))
    assert report.errors == [
        "orders.csv:4: number: the order was imported with other values; delete it to import it again"
    ]
    assert await table(store, ORDER_SQL) == before


@pytest.mark.usefixtures("shop")
async def test_an_order_that_was_deleted_can_be_imported_again(store: Store, tmp_path: Path):
    await run(store, tmp_path, "orders", ORDER_CSV)
    changed = ORDER_CSV.replace("#1002,O", "#1002,C").replace("presente", "surpresa")
    for number in (1, 2):  # the first was paid in the other shop
        assert (await delete_order(system_scope(store), number)).hidden, number
    report = await run(store, tmp_path, "orders", changed)
    assert (report.counts["created"], report.counts["unchanged"]) == (2, 0)
    report = await run(store, tmp_path, "orders", changed)
    assert report.counts["unchanged"] == 2


@pytest.mark.usefixtures("shop")
async def test_events_of_imported_orders_are_emitted_when_asked_for(store: Store, tmp_path: Path):
    await run(store, tmp_path, "orders", ORDER_CSV, events=True)
    assert [row["event"] for row in await table(store, "select name as event from outbox_events order by id")] == [
        "order.created"
    ] * 2


@pytest.mark.parametrize(
    "change, error",
    [
        ({"number": ""}, "number: number is required"),
        ({"status": "X"}, "status: status is 'X'; expected one of O, P, C"),
        ({"created_at": None}, "created_at: created_at is required"),
        ({"created_at": "yesterday"}, "created_at: is 'yesterday'; expected a time in the past"),
        ({"total": None}, "total: total_cents is required"),
        ({"total": "1.999"}, "total: is '1.999'; expected at most two decimal places"),
        ({"discount": -1}, "discount: is -1; expected zero or more"),
        ({"refunded": 90, "paid": 10}, "refunded: refunded_cents is more than was paid"),
        ({"currency": "USD"}, "currency: currency is 'USD'; expected BRL"),
        ({"email": "x"}, "email: email is 'x'"),
        ({"payment_method": "Boleto"}, "payment_method: the store has no payment method 'Boleto'"),
        ({"shipping_method": "Sedex"}, "shipping_method: the store has no shipping method 'Sedex'"),
        ({"lines": []}, "lines: the order has 0 lines; expected 1 to 1000"),
        ({"lines": "x"}, "lines: is 'x'; expected a list of objects"),
        ({"lines": [{"sku": "NO-1", "quantity": 1, "price": 1}]}, "lines[0].sku: the store has no product 'NO-1'"),
        ({"lines": [{"name": "A", "quantity": 0, "price": 1}]}, "lines[0].quantity: quantity is 0"),
        ({"lines": [{"name": "A", "price": 1}]}, "lines[0].quantity: quantity is required"),
        ({"lines": [{"name": "A", "quantity": 1}]}, "lines[0].price: price_cents is required"),
        ({"lines": [{"name": "A", "quantity": 1, "price": 1, "price_cents": 1}]}, "lines[0].price_cents: sets what another"),
        ({"lines": [{"name": "A", "quantity": 10**9, "price": 10**12}]}, "lines[0].price: the lines amount to too much"),
        ({"lines": [{"sku": "TWO", "quantity": 1, "price": 1}]}, "lines[0].sku: 2 vendors have the SKU 'TWO'"),
        ({"lines": [{"sku": "TWO", "vendor_id": "x", "quantity": 1, "price": 1}]}, "lines[0].vendor_id: 'x' is no vendor"),
        ({"shipping_address": []}, "shipping_address: is []; expected an object"),
        ({"shipping_address": {"country": "Brasil"}}, "shipping_address.country: country is 'Brasil'"),
    ],
)  # fmt: skip
async def test_a_wrong_order_is_refused_and_the_others_are_imported(
    store: Store, tmp_path: Path, change: dict[str, Any], error: str
):
    for _ in range(2):
        await add_product(store, sku="TWO", vendor_id=(await add_vendor(store)).number)
    good = {
        "number": "1",
        "status": "C",
        "created_at": "2021-05-06",
        "total": 5,
        "lines": [{"name": "A", "quantity": 1, "price": 5}],
    }
    report = await run(store, tmp_path, "orders", jsonl({**good, **change}, {**good, "number": "2"}), "jsonl")
    assert [row["details"] for row in await table(store, ORDER_SQL)] == ["2"]
    assert report.failed == 1
    assert report.errors[0].startswith(f"orders.jsonl:1: {error}"), report.errors


@pytest.mark.usefixtures("shop")
async def test_a_broken_line_of_an_order_refuses_all_of_it(store: Store, tmp_path: Path):
    report = await run(store, tmp_path, "orders", ORDER_CSV.replace("Extinto,1,", "Extinto, novo,1,"))
    assert report.errors == ["orders.csv:3: has 17 values; expected 16"]
    assert [row["details"] for row in await table(store, ORDER_SQL)] == ["#1002"]


async def test_an_error_of_an_order_line_names_its_own_line_of_the_file(store: Store, tmp_path: Path):
    content = (
        ORDER_CSV.replace("OLD-9,Extinto,1", "OLD-9,Extinto,0")
        .replace("#1002,O", "#1002,Q")
        .replace("CAN-1,,", "CAN-1,C,")
    )
    report = await run(store, tmp_path, "orders", content)
    assert [error.split(": ")[:2] for error in report.errors] == [
        ["orders.csv:3", "line_quantity"],
        ["orders.csv:4", "status"],
    ]


@pytest.mark.parametrize("kind, content", [("customers", CUSTOMER_CSV), ("orders", ORDER_CSV)])
@pytest.mark.usefixtures("shop", "wholesale")
async def test_a_dry_run_writes_nothing_and_takes_no_number(store: Store, tmp_path: Path, kind: str, content: str):
    counters = await table(store, "select entity, last from number_counters order by entity")
    users = await table(store, CUSTOMER_SQL)
    report = await run(store, tmp_path, kind, content, dry_run=True, events=True)
    assert list(report.lines())[-1].endswith("refused")
    assert report.counts["created"] >= 1
    assert await table(store, ORDER_SQL) == []
    assert await table(store, CUSTOMER_SQL) == users
    assert await table(store, "select entity, last from number_counters order by entity") == counters
    assert await table(store, "select 1 from outbox_events") == []


@pytest.mark.parametrize(
    "content, error",
    [
        ("number,colour\n", "orders.csv: line 1: the column 'colour' is unknown; expected any of number, status"),
        ("total,total_cents\n", "orders.csv: line 1: the column total_cents sets what another column sets"),
        (b"number\n\xe9\n", "orders.csv: line 2 is not UTF-8"),
        ('number\n"1\n', "orders.csv: line 2 is not CSV"),
    ],
)
async def test_a_file_of_orders_that_can_not_be_read_is_refused(
    store: Store, tmp_path: Path, content: str | bytes, error: str
):
    with pytest.raises(ImportFileError) as raised:
        await run(store, tmp_path, "orders", content)
    assert str(raised.value).startswith(error)


async def test_a_record_has_at_most_a_thousand_lines(store: Store, tmp_path: Path):
    line = "1,C,2021-05-06,1,A,1,1\n"
    content = (
        "number,status,created_at,total,line_name,line_quantity,line_price\n"
        + line * 1_001
        + line.replace("1,C", "2,C")
    )
    report = await run(store, tmp_path, "orders", content)
    assert report.errors == ["orders.csv:1002: number: is on more than 1000 lines"]
    assert report.counts["created"] == 1


@pytest.mark.usefixtures("shop", "wholesale")
async def test_batches_take_the_same_number_of_statements_whatever_their_size(store: Store, tmp_path: Path):
    header, ana, *_ = CUSTOMER_CSV.splitlines()
    order_header, order, *_ = ORDER_CSV.splitlines()
    for kind, first, line, name in (
        ("customers", header, ana, "ANA@Example.com"),
        ("orders", order_header, order, "#1001"),
    ):
        counts = []
        for size in (2, 40):
            new = [line.replace(name, f"s{size}n{n}@example.com") for n in range(size)]
            content = "\n".join([first, *new]) + "\n"
            with database.count_statements() as counted:
                report = await run(store, tmp_path, kind, content)
            assert report.counts["created"] == size
            counts.append(counted.count)
        assert counts[0] == counts[1], kind


async def test_importing_customers_changes_no_other_store(store: Store, other_store: Store, tmp_path: Path):
    await run(other_store, tmp_path, "customers", "email,name\nana@example.com,Alheia\n")
    report = await run(store, tmp_path, "customers", "email,name\nana@example.com,Ana\n")
    assert report.counts["created"] == 1
    assert [row["firstname"] for row in await table(other_store, CUSTOMER_SQL)] == ["Alheia"]
