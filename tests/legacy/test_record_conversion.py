"""Check the pure functions: value types, records, bodies, queries."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel.codes import PRODUCT_STATUSES
from kernel.errors import MalformedRequest, ValidationFailed
from kernel.money import format_cents
from kernel.scope import SYSTEM, Scope, Store
from kernel.text import InvalidValue
from resolvers.engine import compile as query_compiler
from rest_facade.legacy import value_types
from rest_facade.legacy.queries import ListQuery, envelope, query_parser
from rest_facade.legacy.reshape import body_parser, check_required, message_renamer, record_renderer
from rest_facade.legacy.resource import CombinedFilter, QueryFilter, RecordField, Resource, id_field
from rest_facade.legacy.value_types import ABSENT
from tests.harness.records import UNKNOWN_ID

STATUS = value_types.code(PRODUCT_STATUSES)


@pytest.mark.parametrize(
    "value_type, value, expected",
    [
        (value_types.BIGINT, 0, "0"),
        (value_types.BIGINT, 2**62, str(2**62)),
        (value_types.MONEY, 12990, "129.90"),
        (value_types.MONEY, 5, "0.05"),
        (value_types.OPTIONAL_MONEY, None, "0.00"),
        (value_types.OPTIONAL_MONEY, 5, "0.05"),
        (value_types.WEIGHT, 0, "0.000"),
        (value_types.WEIGHT, 1_350, "1.350"),
        (value_types.WEIGHT, 7, "0.007"),
        (value_types.FLAG, True, "Y"),
        (value_types.FLAG, False, "N"),
        (value_types.ID, 12, "12"),
        (value_types.IDS, [3, 1], ["3", "1"]),
        (value_types.UNIX_TIME, 1_712_345_678, "1712345678"),
        (value_types.OPTIONAL_TEXT, None, ""),
        (value_types.EMAIL, None, ""),
        (value_types.PHONE, None, ""),
        (value_types.document(14), None, ""),
    ],
)
def test_a_value_is_rendered_as_a_string(value_type, value, expected):
    assert value_type.render(value) == expected


@pytest.mark.parametrize(
    "value_type, value, expected",
    [
        (value_types.BIGINT, "10", 10),
        (value_types.BIGINT, " 10 ", 10),
        (value_types.BIGINT, "10.0", 10),
        (value_types.BIGINT, "-3", -3),
        (value_types.BIGINT, 10.0, 10),
        (value_types.BIGINT, 2**63 - 1, 2**63 - 1),
        (value_types.INTEGER, 2**31 - 1, 2**31 - 1),
        (value_types.MONEY, "129.90", 12_990),
        (value_types.MONEY, 19.900000000000002, 1_990),
        (value_types.OPTIONAL_MONEY, "", None),
        (value_types.OPTIONAL_MONEY, "0.00", None),
        (value_types.OPTIONAL_MONEY, None, None),
        (value_types.WEIGHT, "0.35", 350),
        (value_types.WEIGHT, 2, 2_000),
        (value_types.WEIGHT, "1.2345", 1_235),
        (value_types.TEXT, "x", "x"),
        (value_types.TEXT, 5, "5"),
        (value_types.TEXT, None, None),
        (value_types.document(14), 1222333000181, "01222333000181"),
        (value_types.document(14), "1222333000181", "1222333000181"),
        (STATUS, "active", "A"),
        (STATUS, "h", "H"),
        (value_types.ORDER_STATUS, "q", "Q"),
        (value_types.ORDER_STATUS, "Canceled", "I"),
        (value_types.FLAG, "y", True),
        (value_types.FLAG, 0, False),
        (value_types.FLAG, True, True),
        (value_types.FLAG, "false", False),
        (value_types.ID, 5, "5"),
        (value_types.ID, "5", "5"),
        (value_types.ID, 5.0, "5"),
        (value_types.ID, UNKNOWN_ID, UNKNOWN_ID),
        (value_types.ID, 0, None),
        (value_types.ID, "0", None),
        (value_types.ID, None, None),
        (value_types.ID, "", ABSENT),
        (value_types.IDS, [1, "2", UNKNOWN_ID], ["1", "2", UNKNOWN_ID]),
        (value_types.IDS, "7", ["7"]),
        (value_types.IDS, 7, ["7"]),
        (value_types.IDS, "7, 8", ["7", "8"]),
        (value_types.IDS, {"0": 7, "1": "8"}, ["7", "8"]),
        (value_types.IDS, [], []),
        (value_types.IDS, None, []),
        (value_types.IDS, "", ABSENT),
        (value_types.IDS, [0, "", None], []),
        (value_types.OBJECT, [], {}),
        (value_types.OBJECT, {"a": 1}, {"a": 1}),
        (value_types.choice("B", "D"), "b", "B"),
    ],
)
def test_a_value_is_parsed_in_every_accepted_form(value_type, value, expected):
    assert value_type.parse(value, "x") == expected


@pytest.mark.parametrize(
    "value_type, value",
    [
        (value_types.BIGINT, "1.5"),
        (value_types.BIGINT, 1.5),
        (value_types.BIGINT, True),
        (value_types.BIGINT, ""),
        (value_types.BIGINT, 2**63),
        (value_types.BIGINT, "1e3"),
        (value_types.BIGINT, None),
        (value_types.BIGINT, []),
        (value_types.INTEGER, 2**31),
        (value_types.MONEY, ""),
        (value_types.MONEY, None),
        (value_types.MONEY, "1,50"),
        (value_types.OPTIONAL_MONEY, "x"),
        (value_types.WEIGHT, ""),
        (value_types.WEIGHT, -1),
        (value_types.WEIGHT, True),
        (value_types.WEIGHT, 1e300),
        (value_types.TEXT, True),
        (value_types.TEXT, {}),
        (value_types.TEXT, []),
        (STATUS, "Z"),
        (STATUS, None),
        (STATUS, 1),
        (value_types.ORDER_STATUS, "ZZ"),
        (value_types.ORDER_STATUS, "É"),
        (value_types.FLAG, "maybe"),
        (value_types.FLAG, 2),
        (value_types.FLAG, None),
        (value_types.ID, "abc"),
        (value_types.ID, -1),
        (value_types.ID, True),
        (value_types.ID, {}),
        (value_types.ID, 1.5),
        (value_types.ID, "1 "),
        (value_types.IDS, ["x"]),
        (value_types.IDS, [[1]]),
        (value_types.OBJECT, "x"),
        (value_types.OBJECT, [1]),
        (value_types.choice("B"), "C"),
    ],
)
def test_an_invalid_value_is_rejected_with_its_field(value_type, value):
    with pytest.raises(InvalidValue, match=r"^the field .*expected|^status .*expected"):
        value_type.parse(value, "the field")


@pytest.mark.parametrize(
    "value_type, text, expected",
    [
        (value_types.BIGINT, "7", 7),
        (value_types.MONEY, "7.5", 750),
        (value_types.WEIGHT, "0.5", 500),
        (value_types.FLAG, "Y", True),
        (STATUS, "active", "A"),
        (value_types.UNIX_TIME, "1712345678", "2024-04-05T19:34:38Z"),
        (value_types.EMAIL, " Ana@Example.com", "ana@example.com"),
        (value_types.PHONE, "+55 (11) 91234-5678", "11912345678"),
        (value_types.PHONE, "12-34", "1234"),
        (value_types.document(14), "11.222.333/0001-81", "11222333000181"),
        (value_types.TEXT, "cafe\u0301", "café"),
    ],
)
def test_a_filter_is_parsed_like_a_stored_value(value_type, text, expected):
    assert value_type.parse_filter(text) == expected


# --- Records and bodies ------------------------------------------------------------------------------------------------------


def test_a_record_is_rendered_field_by_field():
    render = record_renderer(
        (
            RecordField("a", value_types.BIGINT),
            RecordField("b", value_types.TEXT),
            RecordField("c", value_types.FLAG, permission="sees"),
        ),
        prepare=lambda row: row.update(a=row["a"] + 1),
        complete=lambda row: row.update(d=row["a"] * 2),
    )
    assert render({"a": 1, "b": "x", "c": True}) == {"a": "2", "b": "x", "c": "Y", "d": "22"}
    assert render({"a": 1, "b": "x"}) == {"a": "2", "b": "x", "d": "22"}


@pytest.mark.parametrize("path", ["/api/products", "/api/orders", "/api/categories"])
async def test_records_are_the_same_from_compiled_reads_and_the_executor(path, sample, monkeypatch):
    compiled = await sample.get(path)
    assert compiled.status == 200
    first = next(iter(compiled.body[path.rpartition("/")[2]]))
    number = first[next(iter(first))]
    records = [(await sample.get(f"{path}/{number}")).body]
    monkeypatch.setattr(query_compiler, "_enabled", False)
    assert (await sample.get(path)).body == compiled.body
    assert [(await sample.get(f"{path}/{number}")).body] == records


@given(st.integers(-(10**12), 10**12))
def test_cents_are_a_decimal_number(cents):
    assert Decimal(format_cents(cents)) * 100 == cents


def test_a_body_is_parsed_into_input_paths():
    parse_body = body_parser(
        (
            RecordField("price", value_types.MONEY, "price_cents"),
            RecordField("b_city", value_types.TEXT, "billing.city", parent_object="user_data"),
            RecordField("shown_only", value_types.TEXT),
            RecordField("company_id", value_types.ID, "vendor_id"),
        )
    )
    assert parse_body({"price": "1.50", "shown_only": "x", "unknown": 1}) == {"price_cents": 150}
    assert parse_body({"b_city": "Recife"}) == {"billing": {"city": "Recife"}}
    assert parse_body({"b_city": "Recife", "user_data": {"b_city": "Olinda"}}) == {"billing": {"city": "Olinda"}}
    assert parse_body({"user_data": [], "company_id": ""}) == {}
    assert parse_body({"company_id": None}) == {"vendor_id": None}
    with pytest.raises(ValidationFailed, match="user_data is 'x'; expected an object"):
        parse_body({"user_data": "x"})
    with pytest.raises(ValidationFailed, match="price is 'x'; expected an amount"):
        parse_body({"price": "x"})


def test_required_fields_must_be_present():
    check_required({"a": 0, "b": "0"}, ("a", "b"))
    for body in ({}, {"a": None}, {"a": ""}):
        with pytest.raises(ValidationFailed, match="a is required"):
            check_required(body, ("a",))


def test_domain_errors_name_the_legacy_field():
    rename = message_renamer(
        (
            RecordField("price", value_types.MONEY, "price_cents"),
            RecordField("zip", value_types.TEXT, "a.zipcode"),
        ),
        {"vendor": "company_id"},
    )
    for message, expected in (
        ("price_cents is 5; expected 6", "price is 5; expected 6"),
        ("zipcode is bad; price_cents is bad", "zip is bad; price is bad"),
        ("vendor 5 not parsed", "company_id 5 not parsed"),
        ("the price_cents are fine", "the price_cents are fine"),
        ("price_centsx is 5", "price_centsx is 5"),
    ):
        assert rename(message) == expected
    assert message_renamer((RecordField("status", STATUS, "status"),), {})("status is 5") == "status is 5"


# --- Queries -----------------------------------------------------------------------------------------------------------------

THINGS = Resource(
    path="things",
    key="thing_id",
    display_name="thing",
    privilege_area="products",
    fields=(
        id_field("thing_id"),
        RecordField("status", STATUS, filter_name="status"),
        RecordField("price", value_types.MONEY, filter_name="price_cents"),
        RecordField("is_new", value_types.FLAG, filter_name="is_new"),
        RecordField("secret", value_types.TEXT, filter_name="secret", permission="sees_secrets"),
        RecordField("extra", value_types.RAW),
    ),
    filters=(
        QueryFilter("q", "search", value_types.TEXT, multiple=False),
        QueryFilter("cost", "price_cents", value_types.MONEY, keys_rows=False),
        CombinedFilter(("from", "to"), lambda values, scope: {name: values[name][-1] for name in values}),
    ),
    sorts={"price": "PRICE", "thing_id": "ID"},
    default_sort=("thing_id", "desc"),
    permissions={"sees_secrets": lambda scope: scope.store.name == "open"},
)
read_query = query_parser(THINGS)


def scope(name: str = "closed", **settings: Any) -> Scope:
    store = Store(1, "x", name, settings=settings)  # type: ignore[arg-type]
    return Scope(store=store, actor=SYSTEM, request_id="x", now=datetime(2026, 3, 5, 12, tzinfo=UTC))


def parse(query: str, **kwargs: Any) -> ListQuery:
    return read_query(query, scope(**kwargs))


def test_an_empty_query_has_the_defaults():
    parsed = parse("")
    assert parsed.variables == {"page": 1, "per_page": 10, "filter": None, "sort": "ID_DESC"}
    assert (parsed.echo, parsed.is_keyed, parsed.matches_nothing) == ({}, False, False)


@pytest.mark.parametrize(
    "query, filters, echo, is_keyed, matches_nothing",
    [
        ("status=active", {"status": ["A"]}, {"status": "A"}, True, False),
        ("status[]=A&status[]=zz", {"status": ["A"]}, {"status": ["A", "zz"]}, True, False),
        ("status=zz", {}, {"status": "zz"}, True, True),
        ("price=1.5", {"price_cents": [150]}, {"price": "1.5"}, True, False),
        ("price=1.5&cost=1.50", {"price_cents": [150]}, {"price": "1.5", "cost": "1.50"}, True, False),
        ("price=1.5&cost=2", {"price_cents": []}, {"price": "1.5", "cost": "2"}, True, True),
        ("cost=2", {"price_cents": [200]}, {"cost": "2"}, False, False),
        ("is_new=Y", {"is_new": True}, {"is_new": "Y"}, True, False),
        ("q=a+b", {"search": "a b"}, {"q": "a b"}, True, False),
        ("q=", {}, {}, False, False),
        ("from=1", {"from": "1"}, {"from": "1"}, False, False),
        ("from[a][b]=1", {}, {"from": None}, False, True),
        ("secret=x", {}, {}, False, False),
        ("extra=x&unknown=y", {}, {}, False, False),
        ("thing_id[]=1&thing_id[]=2", {"id": ["1", "2"]}, {"thing_id": ["1", "2"]}, True, False),
    ],
)
def test_parameters_become_filters(query, filters, echo, is_keyed, matches_nothing):
    parsed = parse(query)
    assert (parsed.filter, parsed.echo, parsed.is_keyed, parsed.matches_nothing) == (
        filters,
        echo,
        is_keyed,
        matches_nothing,
    )


def test_a_restricted_field_filters_for_permitted_callers_only():
    assert parse("secret=x", name="open").filter == {"secret": ["x"]}


@pytest.mark.parametrize(
    "query, sort, echo",
    [
        ("sort_by=price", "PRICE_ASC", {"sort_by": "price", "sort_order": "asc"}),
        ("sort_by=price&sort_order=DESC", "PRICE_DESC", {"sort_by": "price", "sort_order": "desc"}),
        ("sort_order=asc", "ID_ASC", {"sort_by": "thing_id", "sort_order": "asc"}),
        ("sort_by=x", "ID_DESC", {"sort_by": "thing_id", "sort_order": "desc"}),
    ],
)
def test_sort_orders_are_parsed_and_echoed(query, sort, echo):
    parsed = parse(query)
    assert (parsed.sort, parsed.order) == (sort, echo)


def test_a_query_with_too_many_parameters_is_rejected():
    with pytest.raises(MalformedRequest):
        parse("a=1&" * 5_001)


def test_the_envelope_has_the_stores_form():
    rows = [{"thing_id": "2"}, {"thing_id": "1"}]
    plain, filtered = parse("page=2"), parse("status=A")
    params = {"page": 2, "items_per_page": 10, "total_items": 12, "sort_by": "thing_id", "sort_order": "desc"}
    assert envelope(THINGS, scope(), plain, rows, 12) == {"things": rows, "params": params}
    keyed = envelope(THINGS, scope(), filtered, rows, 2)
    assert list(keyed["things"]) == ["2", "1"]
    assert keyed["search"] == {"status": "A"}
    assert keyed["params"]["status"] == "A"
    cscart = envelope(THINGS, scope(legacy_lists="cscart"), filtered, rows, 2)
    assert cscart == {"things": rows, "params": keyed["params"]}
