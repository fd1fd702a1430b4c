"""Check the pure parts: kinds of values, rows, bodies, queries."""

from datetime import UTC, datetime
from typing import Any

import pytest

from kernel.errors import MalformedRequest, ValidationFailed
from kernel.letters import PRODUCT_LETTERS
from kernel.scope import SYSTEM, Scope, Store
from kernel.text import Malformed
from rest_facade.legacy import kinds
from rest_facade.legacy.kinds import ABSENT
from rest_facade.legacy.queries import Asked, envelope, query_reader
from rest_facade.legacy.reshape import body_reader, renamer, require, row_shower
from rest_facade.legacy.resource import Field, Filter, Resource, Together, id_field
from tests.shop import NOBODY

STATUS = kinds.letter(PRODUCT_LETTERS)


@pytest.mark.parametrize(
    "kind, value, shown",
    [
        (kinds.NUMBER, 0, "0"),
        (kinds.NUMBER, 2**62, str(2**62)),
        (kinds.MONEY, 12990, "129.90"),
        (kinds.MONEY, 5, "0.05"),
        (kinds.OPTIONAL_MONEY, None, "0.00"),
        (kinds.OPTIONAL_MONEY, 5, "0.05"),
        (kinds.WEIGHT, 0, "0.000"),
        (kinds.WEIGHT, 1_350, "1.350"),
        (kinds.WEIGHT, 7, "0.007"),
        (kinds.FLAG, True, "Y"),
        (kinds.FLAG, False, "N"),
        (kinds.ID, 12, "12"),
        (kinds.IDS, [3, 1], ["3", "1"]),
        (kinds.UNIX, 1_712_345_678, "1712345678"),
        (kinds.OPTIONAL_TEXT, None, ""),
        (kinds.EMAIL, None, ""),
        (kinds.PHONE, None, ""),
        (kinds.document(14), None, ""),
    ],
)
def test_a_value_is_shown_as_a_string(kind, value, shown):
    assert kind.show(value) == shown


@pytest.mark.parametrize(
    "kind, given, read",
    [
        (kinds.NUMBER, "10", 10),
        (kinds.NUMBER, " 10 ", 10),
        (kinds.NUMBER, "10.0", 10),
        (kinds.NUMBER, "-3", -3),
        (kinds.NUMBER, 10.0, 10),
        (kinds.NUMBER, 2**63 - 1, 2**63 - 1),
        (kinds.SMALL_NUMBER, 2**31 - 1, 2**31 - 1),
        (kinds.MONEY, "129.90", 12_990),
        (kinds.MONEY, 19.900000000000002, 1_990),
        (kinds.OPTIONAL_MONEY, "", None),
        (kinds.OPTIONAL_MONEY, "0.00", None),
        (kinds.OPTIONAL_MONEY, None, None),
        (kinds.WEIGHT, "0.35", 350),
        (kinds.WEIGHT, 2, 2_000),
        (kinds.WEIGHT, "1.2345", 1_235),
        (kinds.TEXT, "x", "x"),
        (kinds.TEXT, 5, "5"),
        (kinds.TEXT, None, None),
        (kinds.document(14), 1222333000181, "01222333000181"),
        (kinds.document(14), "1222333000181", "1222333000181"),
        (STATUS, "active", "A"),
        (STATUS, "h", "H"),
        (kinds.ORDER_STATUS, "q", "Q"),
        (kinds.ORDER_STATUS, "Canceled", "I"),
        (kinds.FLAG, "y", True),
        (kinds.FLAG, 0, False),
        (kinds.FLAG, True, True),
        (kinds.FLAG, "false", False),
        (kinds.ID, 5, "5"),
        (kinds.ID, "5", "5"),
        (kinds.ID, 5.0, "5"),
        (kinds.ID, NOBODY, NOBODY),
        (kinds.ID, 0, None),
        (kinds.ID, "0", None),
        (kinds.ID, None, None),
        (kinds.ID, "", ABSENT),
        (kinds.IDS, [1, "2", NOBODY], ["1", "2", NOBODY]),
        (kinds.IDS, "7", ["7"]),
        (kinds.IDS, 7, ["7"]),
        (kinds.IDS, "7, 8", ["7", "8"]),
        (kinds.IDS, {"0": 7, "1": "8"}, ["7", "8"]),
        (kinds.IDS, [], []),
        (kinds.IDS, None, []),
        (kinds.IDS, "", ABSENT),
        (kinds.IDS, [0, "", None], []),
        (kinds.OBJECT, [], {}),
        (kinds.OBJECT, {"a": 1}, {"a": 1}),
        (kinds.one_of("B", "D"), "b", "B"),
    ],
)
def test_a_value_is_read_in_every_form_that_clients_send(kind, given, read):
    assert kind.read(given, "x") == read


@pytest.mark.parametrize(
    "kind, given",
    [
        (kinds.NUMBER, "1.5"),
        (kinds.NUMBER, 1.5),
        (kinds.NUMBER, True),
        (kinds.NUMBER, ""),
        (kinds.NUMBER, 2**63),
        (kinds.NUMBER, "1e3"),
        (kinds.NUMBER, None),
        (kinds.NUMBER, []),
        (kinds.SMALL_NUMBER, 2**31),
        (kinds.MONEY, ""),
        (kinds.MONEY, None),
        (kinds.MONEY, "1,50"),
        (kinds.OPTIONAL_MONEY, "x"),
        (kinds.WEIGHT, ""),
        (kinds.WEIGHT, -1),
        (kinds.WEIGHT, True),
        (kinds.WEIGHT, 1e300),
        (kinds.TEXT, True),
        (kinds.TEXT, {}),
        (kinds.TEXT, []),
        (STATUS, "Z"),
        (STATUS, None),
        (STATUS, 1),
        (kinds.ORDER_STATUS, "ZZ"),
        (kinds.ORDER_STATUS, "É"),
        (kinds.FLAG, "maybe"),
        (kinds.FLAG, 2),
        (kinds.FLAG, None),
        (kinds.ID, "abc"),
        (kinds.ID, -1),
        (kinds.ID, True),
        (kinds.ID, {}),
        (kinds.ID, 1.5),
        (kinds.ID, "1 "),
        (kinds.IDS, ["x"]),
        (kinds.IDS, [[1]]),
        (kinds.OBJECT, "x"),
        (kinds.OBJECT, [1]),
        (kinds.one_of("B"), "C"),
    ],
)
def test_a_value_of_another_form_is_told_with_its_field(kind, given):
    with pytest.raises(Malformed, match=r"^the field .*expected|^status .*expected"):
        kind.read(given, "the field")


@pytest.mark.parametrize(
    "kind, text, sought",
    [
        (kinds.NUMBER, "7", 7),
        (kinds.MONEY, "7.5", 750),
        (kinds.WEIGHT, "0.5", 500),
        (kinds.FLAG, "Y", True),
        (STATUS, "active", "A"),
        (kinds.UNIX, "1712345678", "2024-04-05T19:34:38Z"),
        (kinds.EMAIL, " Ana@Example.com", "ana@example.com"),
        (kinds.PHONE, "+55 (11) 91234-5678", "11912345678"),
        (kinds.PHONE, "12-34", "1234"),
        (kinds.document(14), "11.222.333/0001-81", "11222333000181"),
        (kinds.TEXT, "cafe\u0301", "café"),
    ],
)
def test_a_query_is_read_like_what_is_stored(kind, text, sought):
    assert kind.seek(text) == sought


# --- Rows and bodies ---------------------------------------------------------------------------------------------------------


def test_a_row_changes_where_it_must_and_stays_as_it_is_elsewhere():
    show = row_shower(
        (Field("a", kinds.NUMBER), Field("b", kinds.TEXT), Field("c", kinds.FLAG, right="sees")),
        prepare=lambda row: row.update(a=row["a"] + 1),
        complete=lambda row: row.update(d=row["a"] * 2),
    )
    assert show({"a": 1, "b": "x", "c": True}) == {"a": "2", "b": "x", "c": "Y", "d": "22"}
    assert show({"a": 1, "b": "x"}) == {"a": "2", "b": "x", "d": "22"}


def test_a_body_fills_the_places_that_fields_name():
    read = body_reader(
        (
            Field("price", kinds.MONEY, "price_cents"),
            Field("b_city", kinds.TEXT, "billing.city", within="user_data"),
            Field("shown_only", kinds.TEXT),
            Field("company_id", kinds.ID, "vendor_id"),
        )
    )
    assert read({"price": "1.50", "shown_only": "x", "unknown": 1}) == {"price_cents": 150}
    assert read({"b_city": "Recife"}) == {"billing": {"city": "Recife"}}
    assert read({"b_city": "Recife", "user_data": {"b_city": "Olinda"}}) == {"billing": {"city": "Olinda"}}
    assert read({"user_data": [], "company_id": ""}) == {}
    assert read({"company_id": None}) == {"vendor_id": None}
    with pytest.raises(ValidationFailed, match="user_data is 'x'; expected an object"):
        read({"user_data": "x"})
    with pytest.raises(ValidationFailed, match="price is 'x'; expected an amount"):
        read({"price": "x"})


def test_what_creation_needs_must_be_there():
    require({"a": 0, "b": "0"}, {"a": "a is required", "b": "b is required"})
    for body in ({}, {"a": None}, {"a": ""}):
        with pytest.raises(ValidationFailed, match="a is required"):
            require(body, {"a": "a is required"})


def test_refusals_from_below_name_the_legacy_field():
    rename = renamer(
        (Field("price", kinds.MONEY, "price_cents"), Field("zip", kinds.TEXT, "a.zipcode")),
        {"vendor": "company_id"},
    )
    for below, legacy in (
        ("price_cents is 5; expected 6", "price is 5; expected 6"),
        ("zipcode is bad; price_cents is bad", "zip is bad; price is bad"),
        ("vendor 5 not found", "company_id 5 not found"),
        ("the price_cents are fine", "the price_cents are fine"),
        ("price_centsx is 5", "price_centsx is 5"),
    ):
        assert rename(below) == legacy
    assert renamer((Field("status", STATUS, "status"),), {})("status is 5") == "status is 5"


# --- Queries -----------------------------------------------------------------------------------------------------------------

THINGS = Resource(
    path="things",
    key="thing_id",
    thing="thing",
    area="products",
    fields=(
        id_field("thing_id"),
        Field("status", STATUS, filters="status"),
        Field("price", kinds.MONEY, filters="price_cents"),
        Field("is_new", kinds.FLAG, filters="is_new"),
        Field("secret", kinds.TEXT, filters="secret", right="sees_secrets"),
        Field("extra", kinds.PLAIN),
    ),
    filters=(
        Filter("q", "search", kinds.TEXT, many=False),
        Filter("cost", "price_cents", kinds.MONEY, keys=False),
        Together(("from", "to"), lambda given, scope: {name: given[name][-1] for name in given}),
    ),
    sorts={"price": "PRICE", "thing_id": "ID"},
    default_sort=("thing_id", "desc"),
    rights={"sees_secrets": lambda scope: scope.store.name == "open"},
)
read_query = query_reader(THINGS)


def scope(name: str = "closed", **settings: Any) -> Scope:
    store = Store(1, "x", name, settings=settings)  # type: ignore[arg-type]
    return Scope(store=store, actor=SYSTEM, request_id="x", now=datetime(2026, 3, 5, 12, tzinfo=UTC))


def asked(query: str, **how: Any) -> Asked:
    return read_query(query, scope(**how))


def test_without_a_query_the_defaults_hold():
    found = asked("")
    assert found.variables == {"page": 1, "per_page": 10, "filter": None, "sort": "ID_DESC"}
    assert (found.echo, found.is_keyed, found.matches_nothing) == ({}, False, False)


@pytest.mark.parametrize(
    "query, filters, echo, keyed, nothing",
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
def test_parameters_become_filters(query, filters, echo, keyed, nothing):
    found = asked(query)
    assert (found.filter, found.echo, found.is_keyed, found.matches_nothing) == (
        filters,
        echo,
        keyed,
        nothing,
    )


def test_a_guarded_field_is_sought_by_those_who_see_it():
    assert asked("secret=x", name="open").filter == {"secret": ["x"]}


@pytest.mark.parametrize(
    "query, sort, told",
    [
        ("sort_by=price", "PRICE_ASC", {"sort_by": "price", "sort_order": "asc"}),
        ("sort_by=price&sort_order=DESC", "PRICE_DESC", {"sort_by": "price", "sort_order": "desc"}),
        ("sort_order=asc", "ID_ASC", {"sort_by": "thing_id", "sort_order": "asc"}),
        ("sort_by=x", "ID_DESC", {"sort_by": "thing_id", "sort_order": "desc"}),
    ],
)
def test_orders_are_read_and_told(query, sort, told):
    found = asked(query)
    assert (found.sort, found.order) == (sort, told)


def test_a_query_with_too_many_names_is_refused():
    with pytest.raises(MalformedRequest):
        asked("a=1&" * 5_001)


def test_the_envelope_has_the_stores_form():
    rows = [{"thing_id": "2"}, {"thing_id": "1"}]
    plain, filtered = asked("page=2"), asked("status=A")
    params = {"page": 2, "items_per_page": 10, "total_items": 12, "sort_by": "thing_id", "sort_order": "desc"}
    assert envelope(THINGS, scope(), plain, rows, 12) == {"things": rows, "params": params}
    keyed = envelope(THINGS, scope(), filtered, rows, 2)
    assert list(keyed["things"]) == ["2", "1"]
    assert keyed["search"] == {"status": "A"}
    assert keyed["params"]["status"] == "A"
    cscart = envelope(THINGS, scope(legacy_lists="cscart"), filtered, rows, 2)
    assert cscart == {"things": rows, "params": keyed["params"]}
