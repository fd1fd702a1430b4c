"""Export and erasure of a person: everything is found by the database's own catalogue (docs/security.md#erasure)."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from auth.secrets import DecryptionError, decrypt
from domain import retention
from domain.gateway import notifications
from domain.idempotency import PURPOSE as IDEMPOTENCY
from domain.imports.customers import upsert_customers
from domain.imports.past_orders import import_past_orders
from domain.mails.outbox import BODY_PURPOSE as MAIL
from domain.orders.fiscal import set_fiscal_data
from domain.people.accounts import UserRef
from domain.people.export import export_person
from domain.people.personal_data import PLACES, load_person
from domain.people.registration import issue_password_link, reset_password
from domain.stores import set_gateway_secret
from kernel.scope import ANONYMOUS, Actor, ActorKind, Scope, Store, active_scope
from models.tables.b2b import BusinessPartner, CreditCheck, Manager
from models.tables.bulk import BulkOperation
from models.tables.options import OptionFile
from resolvers import root
from schema.fields import ColumnSource, entity_of, field_source
from schema.filters import values_in
from server.embedded_postgres import EmbeddedServer
from tests.graphql.test_carts import ADD, CHECK_OUT, CREATE, SHIP, code, execute_query, key_of
from tests.harness.gateway import SECRET, event, raw, signature
from tests.harness.oauth import issue_tokens, register_app
from tests.harness.records import PASSWORD, UserRecord
from tests.harness.sample_store import SampleStore

EMAIL, GUEST = "zenobia.quiteria@example.com", "hermengarda@example.com"
CPF = "39053344705"
# Nothing else in the database contains them.
MARKS = ("zenobia", "quit\u00e9ria", "quiteria", "zabumba", "98765-4321", "987654321", CPF, "hermengarda")
ADDRESS = {
    "name": "Zenobia Quitéria",
    "street": "Rua das Zabumbas",
    "number": "17",
    "complement": "Zabumbeiro 3",
    "district": "Zabumbal",
    "city": "São Paulo",
    "state": "SP",
    "zipcode": "01001000",
    "phone": "(11) 98765-4321",
}
SET_ADDRESS = "mutation($id: ID!, $input: CartAddressInput!) { cart_set_address(id: $id, input: $input) { id } }"
SAVE_ADDRESS = "mutation($input: SavedAddressInput!) { address_create(input: $input) { id } }"
REVIEW = "mutation($input: ReviewInput!) { review_create(input: $input) { id } }"
CALL = "mutation($input: CallRequestInput!) { call_request_create(input: $input) { id } }"
SUBSCRIBE = "mutation($input: SubscriberInput!) { subscriber_create(input: $input) { id } }"
ORDER = "mutation($input: OrderInput!) { order_create(input: $input) { id } }"
SET_STATUS = (
    "mutation($id: ID!, $status: OrderStatus!, $reason: String!)"
    " { order_set_status(id: $id, status: $status, reason: $reason) { id } }"
)
ANONYMIZE = "mutation($id: ID!) { user_anonymize(id: $id) { id email status } }"
ANONYMIZE_GUEST = "mutation($email: String!) { guest_anonymize(email: $email) { rows kept_orders } }"
EXPORT = "query($id: ID, $email: String, $after: String) { user_export(id: $id, email: $email, after: $after) { data next } }"


async def search_database(url: str, tenant: int, marks: tuple[str, ...] = MARKS) -> dict[str, set[str]]:
    """Return the columns of all tables, by table, that contain one of the marks in a row of the store, decrypted where it can be."""
    places: dict[str, set[str]] = defaultdict(set)
    connection = await asyncpg.connect(url)
    try:
        for table in await connection.fetch(
            "SELECT c.oid::regclass::text AS name, EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'tenant_id')"
            " AS of_store FROM pg_class c WHERE c.relkind IN ('r', 'm', 'p') AND c.relnamespace = 'public'::regnamespace"
        ):
            condition = "WHERE tenant_id = $1" if table["of_store"] else "WHERE $1::bigint IS NOT NULL"
            for row in await connection.fetch(f"SELECT * FROM {table['name']} {condition}", tenant):
                for column, value in row.items():
                    if any(mark in text for text in readable(value) for mark in marks):
                        places[table["name"]].add(column)
    finally:
        await connection.close()
    return dict(places)


def readable(value: object) -> Iterator[str]:
    """Yield the texts of a value in lower case: of bytes also what they are decrypted."""
    if isinstance(value, bytes):
        yield value.decode(errors="replace").lower()
        yield from _decrypted(value)
    elif value is not None:
        text = str(value)
        yield text.lower()
        yield json.loads(f'"{text}"').lower() if "\\u" in text and '"' not in text else ""
        if len(text) > 20 and set(text) <= set("0123456789abcdef"):
            yield from _decrypted(bytes.fromhex(text)) if len(text) % 2 == 0 else ()


def _decrypted(value: bytes) -> Iterator[str]:
    for purpose in (MAIL, IDEMPOTENCY):
        try:
            yield decrypt(purpose, value).decode(errors="replace").lower()
        except DecryptionError:
            continue


@pytest.fixture
def database_of_superuser(postgres: EmbeddedServer, database_name: str) -> str:
    return postgres.superuser_url(database_name)


async def buy(sample: SampleStore, by: UserRecord | str, email: str | None, *, key: str = "") -> Any:
    """Fill a cart and order it, with the person's address; with an idempotency key."""
    cart = (await execute_query(sample, CREATE, by))["id"]
    await execute_query(sample, ADD, by, id=cart, input={"product_id": sample.mug.id, "quantity": 1})
    assert "id" in await execute_query(sample, SET_ADDRESS, by, id=cart, input=ADDRESS)
    await execute_query(sample, SHIP, by, id=cart, way=sample.sedex.id)
    values: dict[str, Any] = {"payment_id": sample.pix.id, "notes": "Deixar com a Zenobia"}
    if email:
        values["customer_email"] = email
    headers = {"Idempotency-Key": key} if key else {}
    placed = await execute_query(sample, CHECK_OUT, by, headers, id=cart, input=values)
    assert "order" in placed, placed
    return placed["order"]


async def use_the_product(sample: SampleStore) -> UserRecord:
    """Let a customer, and a guest with the same e-mail before, do whatever leaves personal data."""
    key = await key_of(sample)
    await buy(sample, key, EMAIL, key="guests-order")
    scope = sample.scope
    with active_scope(scope):
        await set_gateway_secret(scope, SECRET)
    person = await sample.add_user(
        user_type="C", email=EMAIL, firstname="Zenobia", lastname="Quitéria", phone="11987654321", cpf=CPF,
        company_name="Zabumba ME", key=False,
    )  # fmt: skip
    await execute_query(sample, SAVE_ADDRESS, person, input={**ADDRESS, "country": "BR"})
    cancelled = await buy(sample, person, None, key="own-order")
    paid = await buy(sample, person, None)
    await execute_query(sample, SET_STATUS, sample.owner, id=cancelled["id"], status="I", reason="Zenobia desistiu")
    await receive_payment(sample, paid)
    with active_scope(scope):
        await set_fiscal_data(scope, paid["id"], {"nota_fiscal": "1234", "xml_nota": "<dest>Zenobia Quitéria</dest>"})
    options = {sample.size.id: sample.large.id, sample.print.id: sample.plain.id, sample.engraving.id: "Para Zenobia"}
    engraved = {"product_id": sample.mug.id, "quantity": 1, "options": options}
    values = {"customer_id": person.id, "shipping_method_id": sample.sedex.id, "items": [engraved]}
    assert "id" in await execute_query(sample, ORDER, sample.owner, input=values)
    cart = (await execute_query(sample, CREATE, person))["id"]
    await execute_query(sample, SET_ADDRESS, person, id=cart, input=ADDRESS)
    for owner, record in (("cart", cart), ("order", paid["id"])):
        row = await sample.value(f"SELECT id FROM {owner}s WHERE public_id = $1::text::uuid", record)
        await sample.add(
            OptionFile, file_id=uuid4(), option_id=sample.engraving.number, file_name="zenobia.png",
            mime_type="image/png", bytes=1, sha256="0" * 64, **{f"{owner}_id": row},
        )  # fmt: skip
    line = """[{"option_id": "%s", "name": "Foto", "variant_id": null, "value": "zenobia.png", "modifier": 0, "modifier_type": "A",
        "file": {"id": "zenobia", "mime_type": "image/png", "bytes": 1}}]"""
    await sample.execute(
        "UPDATE order_lines SET options = $2::text::jsonb WHERE order_id = (SELECT id FROM orders WHERE public_id = $1::text::uuid)",
        paid["id"],
        line % sample.engraving.id,
    )
    await leave_messages(sample, person, paid["id"])
    await import_person(sample)
    answer = await sample.anonymous.post("/api/v1/auth/password/forgot", json={"email": EMAIL})
    assert answer.status < 300, answer
    for password in ("wrong password", PASSWORD):
        body = {"email": EMAIL, "password": password}
        await sample.anonymous.post("/api/v1/auth/login", json=body, headers={"User-Agent": "ZabumbaBrowser"})
    return person


async def receive_payment(sample: SampleStore, order: Any) -> None:
    number = await sample.value("SELECT id FROM orders WHERE public_id = $1::text::uuid", order["id"])
    payer = {"name": "Zenobia Quitéria", "email": EMAIL, "document": CPF}
    charge = {
        "id": "ch_zenobia".replace("zenobia", uuid4().hex), "code": "c", "amount": order["total_cents"], "currency": "BRL",
        "status": "paid", "payment_method": "pix", "order": {"id": "or_1", "code": str(number)},
        "metadata": {"order_id": str(number)}, "last_transaction": {"status": "captured"}, "customer": payer,
    }  # fmt: skip
    visitor = replace(sample.scope, actor=ANONYMOUS, family="current")
    unknown = charge | {"id": f"ch_{uuid4().hex}", "metadata": {}, "order": {"id": "or_2", "code": "unknown"}}
    for body in (event("charge.paid", charge), event("charge.paid", unknown)):
        await notifications.receive(visitor, raw(body), [signature(body)])


async def leave_messages(sample: SampleStore, person: UserRecord, order: str) -> None:
    review = {"product_id": sample.mug.id, "name": "Zenobia", "message": "Zenobia gostou", "rating": 5}
    assert "id" in await execute_query(sample, REVIEW, person, input=review)
    comment = {"object_type": "ORDER", "object_id": order, "message": "Aqui é a Zenobia"}
    await execute_query(sample, REVIEW, person, input=comment)
    for values in ({"phone": "+55 (11) 98765-4321"}, {"phone": "1", "order_id": order}):
        call = {"name": "Zenobia", "notes": "para Zenobia", **values}
        assert "id" in await execute_query(sample, CALL, sample.owner, input=call), values
    assert "id" in await execute_query(sample, SUBSCRIBE, sample.owner, input={"email": EMAIL})
    document = f'query {{ users(filter: {{ email: "{EMAIL}" }}) {{ id name }} }}'
    extensions = {"persistedQuery": {"version": 1, "sha256Hash": sha256(document.encode()).hexdigest()}}
    body = {"query": document, "extensions": extensions}
    answer = await sample.post("/graphql", body, auth="bearer")
    assert "data" in answer.body, answer
    await sample.add(BusinessPartner, name="Loja B2B", cnpj="11444777000161", email=EMAIL, contact_name="Zenobia")
    await sample.add(Manager, name="Zenobia Quitéria", email=EMAIL, phone="11987654321", user_id=person.number)
    await sample.add(
        CreditCheck, cnpj=CPF, score=1, risk="low", source="sandbox", bureau_url="sandbox", checked_at=sample.scope.now
    )


async def import_person(sample: SampleStore) -> None:
    scope = sample.scope
    record = {"email": EMAIL, "name": "Zenobia Quitéria", "addresses": [ADDRESS | {"street": "Rua Zabumba Importada"}]}
    lines = [{"name": "Zabumba com nome".replace("Zabumba", "Caneca"), "quantity": 1, "price_cents": 100}]
    order = {
        "number": "Z-1", "status": "C", "created_at": scope.now - timedelta(days=400), "total_cents": 100, "lines": lines,
        "email": EMAIL, "firstname": "Zenobia", "notes": "Zabumba", "details": "Cliente Zenobia", "phone": "11987654321",
        "shipping_address": {name: value for name, value in ADDRESS.items() if name != "name"},
    }  # fmt: skip
    with active_scope(scope):
        assert not (await upsert_customers(scope, [record], emit_events=True))[0].problems
        assert not (await import_past_orders(scope, [order], emit_events=True))[0].problems


_FILLED = """business_partners call_requests carts credit_checks discussion_posts gateway_notifications idempotency_claims
    mailed_tokens mails managers option_files order_addresses order_lines order_status_changes orders outbox_events
    persisted_documents sessions subscribers user_addresses users"""
_INVOICE_ADDRESS = "firstname lastname street number complement district city state zipcode country"
KEPT = {
    # The invoices of two orders that were paid, and the document of their buyer.
    "orders": {"firstname", "lastname", "customer_folded", "fields_data"},
    "order_addresses": set(_INVOICE_ADDRESS.split()),
}
"""What docs/security.md#erasure says that the law keeps."""


async def test_nothing_of_an_erased_person_is_left_but_invoices(sample, database_of_superuser):
    person = await use_the_product(sample)
    before = await search_database(database_of_superuser, sample.store.id)
    places = {place.table for place in PLACES}
    assert set(before) <= places | {"idempotency_claims"}, "a table of personal data that no erasure reaches"
    assert set(_FILLED.split()) - set(before) == set(), "places that the test doesn't fill"
    erased = await execute_query(sample, ANONYMIZE, sample.owner, id=person.id)
    assert erased == {"id": person.id, "email": None, "status": "D"}
    after = await search_database(database_of_superuser, sample.store.id)
    assert {
        table: columns - KEPT.get(table, set()) for table, columns in after.items() if columns - KEPT.get(table, set())
    } == {}
    # Only of the order that was paid and of the imported one, not of the cancelled one and of the guest's.
    kept_orders = await sample.rows(
        "SELECT h.order_id, o.status FROM invoice_holds h JOIN orders o ON o.tenant_id = h.tenant_id AND o.id = h.order_id"
    )
    assert sorted(row["status"] for row in kept_orders) == ["C", "P"]
    named = await sample.rows("SELECT id FROM orders WHERE firstname ILIKE 'zenobia%'")
    assert {row["id"] for row in named} == {row["order_id"] for row in kept_orders}


_PERSONAL_COLUMNS = (
    "email customer_email recipient phone firstname contact_name ip_address user_agent cpf cnpj street user_id order_id"
)
_NOT_PERSONAL = {
    "vendors": "companies that sell in public",
    "warehouses": "the store's own addresses",
    "invoice_holds": "the orders of erased persons",
    "ledger_entries": "what vendors and the store have of an order",
    "ledger_queue": "orders whose ledger is to be written",
}


async def test_each_table_with_columns_of_persons_is_a_place_of_erasure(sample):
    tables = await sample.rows(
        "SELECT table_name::text AS name FROM information_schema.columns WHERE table_schema = current_schema()"
        " GROUP BY 1 HAVING bool_or(column_name = 'tenant_id') AND bool_or(column_name = ANY($1::text[]))",
        _PERSONAL_COLUMNS.split(),
    )
    assert len(tables) > 30
    places = {place.table for place in PLACES} | _NOT_PERSONAL.keys()
    assert {row["name"] for row in tables} - places == set()


async def test_a_deleted_account_is_erased_by_its_e_mail(sample):
    deleted = await execute_query(
        sample, "mutation($id: ID!) { user_delete(id: $id) { id } }", sample.owner, id=sample.caio.id
    )
    assert deleted == {"id": sample.caio.id}
    names = "SELECT count(*) FROM users WHERE firstname = 'Caio'"
    assert await sample.value(names) == 1
    erased = await execute_query(sample, ANONYMIZE_GUEST, sample.owner, email="caio@example.com")
    assert erased["rows"] > 0
    assert await sample.value(names) == 0


async def test_invoices_go_after_their_period(sample, database_of_superuser):
    person = await use_the_product(sample)
    await execute_query(sample, ANONYMIZE, sample.owner, id=person.id)
    period = timedelta(days=retention.DEFAULT_DAYS["invoices"])
    imported = await sample.value("SELECT min(placed_at) FROM invoice_holds")
    for age, names, holds in ((period - timedelta(days=1), 2, 2), (period + timedelta(days=1), 1, 1)):
        for _ in range(2):
            await retention.delete_expired(replace(sample.scope, now=imported + age))
        assert await sample.value("SELECT count(*) FROM orders WHERE firstname ILIKE 'zenobia%'") == names, age
        assert await sample.value("SELECT count(*) FROM invoice_holds") == holds, age
    for _ in range(2):
        await retention.delete_expired(replace(sample.scope, now=sample.scope.now + period + timedelta(days=1)))
    assert await search_database(database_of_superuser, sample.store.id) == {}


async def test_a_repeated_request_after_an_erasure_shows_nothing_and_orders_nothing(sample):
    key = await key_of(sample)
    cart = (await execute_query(sample, CREATE, key))["id"]
    await execute_query(sample, ADD, key, id=cart, input={"product_id": sample.mug.id, "quantity": 1})
    await execute_query(sample, SET_ADDRESS, key, id=cart, input=ADDRESS)
    await execute_query(sample, SHIP, key, id=cart, way=sample.sedex.id)
    body = {
        "query": CHECK_OUT,
        "variables": {"id": cart, "input": {"payment_id": sample.pix.id, "customer_email": GUEST}},
    }
    headers = {"X-API-Key": key, "Idempotency-Key": "once"}
    first = await sample.post("/graphql", body, auth=None, headers=headers)
    assert GUEST in str(first.body)
    orders = await sample.value("SELECT count(*) FROM orders")
    erased = await execute_query(sample, ANONYMIZE_GUEST, sample.owner, email=GUEST.upper())
    assert (erased["rows"] > 0, erased["kept_orders"]) == (True, 0)
    again = await sample.post("/graphql", body, auth=None, headers=headers)
    assert (again.status, GUEST in str(again.body)) == (410, False)
    assert await sample.value("SELECT count(*) FROM orders") == orders


async def test_an_erasure_without_anything_to_erase_changes_nothing(sample):
    person = await use_the_product(sample)
    await execute_query(sample, ANONYMIZE, sample.owner, id=person.id)
    counts = "SELECT (SELECT count(*) FROM outbox_events) || '/' || (SELECT count(*) FROM audit_entries)"
    before = await sample.value(counts)
    await execute_query(sample, ANONYMIZE, sample.owner, id=person.id)
    nothing = await execute_query(sample, ANONYMIZE_GUEST, sample.owner, email=EMAIL)
    assert nothing == {"rows": 0, "kept_orders": 0}
    assert await sample.value(counts) == before


async def test_an_erasure_during_purchases_of_the_person_refuses_or_completes_each(sample):
    person = await sample.add_user(user_type="C", email=EMAIL, firstname="Zenobia", key=False)
    key = await key_of(sample)

    async def order(by: UserRecord | str) -> Any:
        items = [{"product_id": sample.ebook.id, "quantity": 1}]
        cart = await execute_query(sample, CREATE, by, input={"items": items})
        if "id" not in cart:
            return cart  # the person was erased before
        contact = {"customer_email": EMAIL} if by is key else {}
        return await execute_query(sample, CHECK_OUT, by, id=cart["id"], input={"payment_id": sample.pix.id, **contact})

    await sample.token(person)
    erase = execute_query(sample, ANONYMIZE, sample.owner, id=person.id)
    *purchases, erased = await asyncio.gather(
        *(order(key) for _ in range(4)), *(order(person) for _ in range(4)), erase
    )
    assert erased["email"] is None
    for purchase in purchases:
        known = "order" in purchase or code(purchase)[0] in ("NOT_FOUND", "UNAUTHENTICATED", "FORBIDDEN")
        assert known, purchase
    await execute_query(sample, ANONYMIZE_GUEST, sample.owner, email=EMAIL)
    assert await sample.value("SELECT count(*) FROM orders WHERE email = $1", EMAIL) == 0


async def test_a_guest_with_an_account_is_anonymized_as_a_user(sample):
    refused = await execute_query(sample, ANONYMIZE_GUEST, sample.owner, email="caio@example.com")
    assert code(refused) == ("RULE_VIOLATION", "has_account")
    for email in ("", "no address", "x" * 400):
        assert (
            code(await execute_query(sample, ANONYMIZE_GUEST, sample.owner, email=email))[0] == "VALIDATION_FAILED"
        ), email
    assert code(await execute_query(sample, ANONYMIZE_GUEST, sample.caio, email=GUEST))[0] == "FORBIDDEN"


async def test_results_of_bulk_operations_expire_with_an_erasure(sample, other_sample):
    for store in (sample, other_sample):
        columns = {"kind": "query", "state": "completed", "credential": "user:1", "user_id": store.owner.number}
        later = store.scope.now + timedelta(days=7)
        await store.add(BulkOperation, **columns, document="{ x }", file_size=9, expires_at=later)
    await execute_query(sample, ANONYMIZE, sample.owner, id=sample.caio.id)
    expired = "SELECT expires_at <= now() FROM bulk_operations WHERE file_size = 9"
    assert [await store.value(expired) for store in (sample, other_sample)] == [True, False]


async def test_the_same_e_mail_in_another_store_is_another_person(sample, other_sample, database_of_superuser):
    key = await key_of(other_sample)
    await buy(other_sample, key, EMAIL)
    person = await use_the_product(sample)
    before = await search_database(database_of_superuser, other_sample.store.id)
    exported = json.dumps(await exported_of(sample, sample.owner, email=EMAIL))
    theirs = str(await other_sample.value("SELECT public_id FROM orders WHERE email = $1", EMAIL))
    assert theirs not in exported
    await execute_query(sample, ANONYMIZE, sample.owner, id=person.id)
    assert await search_database(database_of_superuser, other_sample.store.id) == before != {}


async def exported_of(sample: SampleStore, by: UserRecord, **arguments: Any) -> dict[str, Any]:
    page = await execute_query(sample, EXPORT, by, **arguments)
    assert page.get("next", "") is None, page
    return page["data"]


async def test_an_export_has_every_row_that_an_erasure_reaches(sample, database_of_superuser):
    person = await use_the_product(sample)
    data = await exported_of(sample, sample.owner, id=person.id)
    filled = await search_database(database_of_superuser, sample.store.id)
    unexported = {place.table for place in PLACES} - {place.table for place in PLACES if place.exported}
    assert set(filled) - set(data) <= unexported | {"idempotency_claims"}
    assert [user["email"] for user in data["users"]] == [EMAIL]
    assert len(data["orders"]) == 5, "three of the account, the guest's, and the imported one"
    for secret in ("password_hash", "token_hash", "tenant_id", "key_hash"):
        assert secret not in json.dumps(data), secret
    assert await exported_of(sample, sample.owner, email=EMAIL) == data


async def test_customers_export_their_own_data_only(sample):
    person = await use_the_product(sample)
    data = await exported_of(sample, person)
    assert [user["email"] for user in data["users"]] == [EMAIL]
    assert "details" not in data["orders"][0]
    assert await exported_of(sample, person, id=person.id) == data
    for by, arguments in (
        (person, {"id": sample.caio.id}),
        (sample.caio, {"id": person.id}),
        (sample.caio, {"email": EMAIL}),
        (sample.vendor_user, {"email": EMAIL}),
        (sample.staff, {"id": person.id}),
    ):
        refused = await execute_query(sample, EXPORT, by, **arguments)
        assert code(refused)[0] == "FORBIDDEN", (arguments, refused)


async def test_customers_export_nothing_in_words_of_the_staff(sample):
    person = await use_the_product(sample)
    await sample.execute('UPDATE order_lines SET extra = \'{"note": "cliente difícil"}\'')
    await sample.execute("UPDATE order_status_changes SET reason = 'suspeita de fraude'")
    await sample.execute('UPDATE orders SET shipping_quote = \'{"note": "tarifa negociada"}\'')
    for by, is_shown in ((person, False), (sample.owner, True)):
        text = json.dumps(await exported_of(sample, by, id=person.id), ensure_ascii=False)
        words = ("cliente difícil", "suspeita de fraude", "tarifa negociada")
        assert [word in text for word in words] == [is_shown] * 3, by


def test_an_export_of_oneself_leaves_out_the_columns_that_customers_are_refused():
    internal: dict[str, set[str]] = {}
    for place in PLACES:
        if place.exported:
            internal.setdefault(place.table, set()).update(place.internal)
    customer, refused = Scope(Store(1, uuid4(), ""), Actor(ActorKind.CUSTOMER, user_id=1), "", datetime.now(UTC)), set()
    for type_ in root.public_schema().type_map.values():
        entity = entity_of(type_)
        for name, field in type_.fields.items() if entity is not None and entity.table in internal else ():
            source = field_source(field)
            if isinstance(source, ColumnSource) and source.guard is not None and not source.guard.allows(customer):
                columns = {each for each in values_in(source.sql or name) if " " not in each}
                refused |= {(entity.table, column) for column in columns - internal[entity.table]}
    assert refused == {
        *(("orders", "fields_data"), ("discussion_posts", "user_id"), ("users", "privileges")),  # the person's own
        *((table, "ip_address") for table in ("orders", "discussion_posts")),
    }


async def test_an_administrators_data_need_all_of_their_privileges(sample):
    deputy = await sample.add_user("manage_users", user_type="A", email="deputy@example.com")
    for user, refused in ((sample.owner, True), (sample.staff, True), (sample.caio, False), (deputy, False)):
        answer = await execute_query(sample, EXPORT, deputy, id=user.id)
        assert ("extensions" in answer and code(answer)[0] == "FORBIDDEN") == refused, (user, answer)


async def test_an_unverified_e_mail_shows_no_orders_of_guests(sample):
    await buy(sample, await key_of(sample), GUEST)
    impostor = await sample.add_user(user_type="C", email=GUEST, key=False)
    await sample.token(impostor)
    for verified, orders in ((None, 0), (sample.scope.now, 1)):
        await sample.execute("UPDATE users SET email_verified_at = $2 WHERE id = $1", impostor.number, verified)
        data = await exported_of(sample, impostor)
        assert len(data.get("orders", ())) == orders, verified


async def test_an_e_mail_that_an_app_entered_shows_no_orders_of_guests(sample):
    await buy(sample, await key_of(sample), GUEST)
    owner = await sample.client(sample.owner)
    tokens = await issue_tokens(owner, await register_app(owner, scopes=["write_users"]), ["write_users"])
    app = owner.with_token(tokens["access_token"])
    account = {"email": GUEST, "password": PASSWORD, "role": "customer", "name": "X"}
    text = "mutation($input: UserInput!) { user_create(input: $input) { id email_verified } }"
    created = (await app.post("/graphql", {"query": text, "variables": {"input": account}})).body["data"]["user_create"]
    assert created["email_verified"]

    async def exported() -> dict[str, Any]:
        signed_in = await sample.anonymous.post("/api/v1/auth/login", {"identifier": GUEST, "password": PASSWORD})
        client = owner.with_token(signed_in.body["access_token"])
        return (await client.post("/graphql", {"query": EXPORT})).body["data"]["user_export"]["data"]

    assert "orders" not in await exported()
    with active_scope(sample.scope):
        token = (
            await issue_password_link(
                sample.scope, UserRef(await sample.value("SELECT id FROM users WHERE email = $1", GUEST), created["id"])
            )
        )["token"]
        await reset_password(replace(sample.scope, now=datetime.now(UTC)), token, PASSWORD)
    assert len((await exported())["orders"]) == 1


async def test_administrators_without_the_privilege_export_nothing_by_a_telephone(sample):
    create = 'mutation { call_request_create(input: {name: "Caio", phone: "+55 (11) 98888-7777"}) { id } }'
    await execute_query(sample, create, sample.owner)
    update = 'mutation($id: ID!) { user_update(id: $id, input: {phone: "11988887777"}) { phone } }'
    for user, requests in ((sample.staff, 0), (sample.owner, 1)):
        assert (await execute_query(sample, update, user, id=user.id))["phone"] == "11988887777"
        data = await exported_of(sample, user)
        assert ([each["id"] for each in data["users"]], len(data.get("call_requests", ()))) == ([user.id], requests)


async def test_an_export_continues_where_its_page_ended(sample):
    person = await use_the_product(sample)
    with active_scope(sample.scope) as scope:
        whole = await load_person(scope, users=[person.number])
        complete = (await export_person(scope, whole)).data
        pages: dict[str, list[Any]] = {}
        after, count = None, 0
        while True:
            page = await export_person(scope, whole, after, limit=3)
            for table, records in page.data.items():
                pages.setdefault(table, []).extend(records)
            count += 1
            after = page.next
            if after is None:
                break
    assert pages == complete
    assert count > sum(map(len, complete.values())) // 3
    for after in ("", "x", "1", "99.1", "1.x", "-1.2", "1." + "9" * 20, "1." + "9" * 40):
        assert (
            code(await execute_query(sample, EXPORT, sample.owner, id=person.id, after=after))[0] == "VALIDATION_FAILED"
        ), after
