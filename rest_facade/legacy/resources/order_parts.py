"""Show and read the parts of an order that have a form of their own: lines, addresses, ways to pay and ship, history."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from kernel import clock
from kernel.clock import Span
from kernel.scope import Scope
from kernel.text import Malformed, shown
from rest_facade.legacy.reshape import row_shower
from rest_facade.legacy.resource import Record, RecordField
from rest_facade.legacy.value_types import (
    ABSENT,
    FLAG,
    ID,
    MONEY,
    NUMBER,
    PLAIN,
    TEXT,
    UNIX,
    ValueType,
    id_from,
    ids_from,
    moment_from,
    object_from,
    text_from,
    whole_from,
)

# --- Lines -------------------------------------------------------------------------------------------------------------------

_show_line = row_shower(
    (
        RecordField("item_id", ID),
        RecordField("product_id", ID),
        RecordField("product", TEXT),
        RecordField("product_code", TEXT),
        RecordField("amount", NUMBER),
        RecordField("price", MONEY),
        RecordField("base_price", MONEY),
        RecordField("subtotal", MONEY),
        RecordField("company_id", ID),
        RecordField("extra", PLAIN),
    )
)


def _lines_shown(lines: list[Record]) -> Record:
    """Show the lines keyed by their position, from 1."""
    return {str(line.pop("position")): _show_line(line) for line in lines}


def _lines_from(value: Any, label: str) -> list[dict[str, Any]]:
    """Read lines: a list, a map of any key to `{product_id, amount, price?}`, or of product ids to `{amount, price?}`."""
    if isinstance(value, Mapping):
        entries = list(value.items())
    elif isinstance(value, list):
        entries = [(None, entry) for entry in value]
    else:
        raise Malformed(f"{label} is {shown(value)}; expected an array or an object")
    return [_line_from(key, entry, label) for key, entry in entries]


def _line_from(key: str | None, entry: Any, label: str) -> dict[str, Any]:
    if not isinstance(entry, Mapping):
        raise Malformed(f"{label} holds {shown(entry)}; expected objects such as {{product_id, amount}}")
    product = id_from(entry.get("product_id", key), f"{label}: product_id")
    if product is None or product is ABSENT:
        raise Malformed(f"{label}: product_id is required")
    if entry.get("amount") in (None, ""):
        raise Malformed(f"{label}: amount is required")
    line: dict[str, Any] = {
        "product_id": product,
        "quantity": whole_from(entry["amount"], f"{label}: amount"),
    }
    if entry.get("price") not in (None, ""):
        assert MONEY.read is not None
        line["price_cents"] = MONEY.read(entry["price"], f"{label}: price")
    if entry.get("extra"):
        line["extra"] = object_from(entry["extra"], f"{label}: extra")
    chosen = entry.get("product_options", line.get("extra", {}).get("product_options"))
    if chosen:
        line["options"] = object_from(chosen, f"{label}: product_options")
    return line


LINES = ValueType(show=_lines_shown, read=_lines_from)

# --- Addresses ---------------------------------------------------------------------------------------------------------------

# CS-Cart has two lines where the platform keeps street, number, complement and district apart. A line that is written becomes
# the street (or complement) and empties what stood beside it, so that what is read back is what was written.
_LINE_1 = ("street", "number")
_LINE_2 = ("complement", "district")
_MEMBERS = ("firstname", "lastname", "city", "state", "country", "zipcode", "phone")


def _first_with(members: tuple[str, str]) -> ValueType:
    def read(value: Any, label: str) -> dict[str, Any]:
        return {members[0]: text_from(value, label) or "", members[1]: ""}

    return ValueType(read=read, seek=str)


def address_fields(letter: str, kind: str, within: str) -> tuple[RecordField, ...]:
    """Describe `b_firstname`, …: the fields of the billing or the shipping address."""
    place = f"{kind}_address"
    return (
        *(
            RecordField(f"{letter}_{name}", TEXT, f"{place}.{name}", f"{kind}_{name}", within=within)
            for name in _MEMBERS
        ),
        RecordField(f"{letter}_address", _first_with(_LINE_1), place, f"{kind}_line_1", within=within),
        RecordField(f"{letter}_address_2", _first_with(_LINE_2), place, f"{kind}_line_2", within=within),
    )


def _take_up_address(record: Record, letter: str, address: Mapping[str, str] | None) -> None:
    given = address or dict.fromkeys((*_MEMBERS, *_LINE_1, *_LINE_2), "")
    for name in _MEMBERS:
        record[f"{letter}_{name}"] = given[name]
    record[f"{letter}_address"] = _joined(given, _LINE_1)
    record[f"{letter}_address_2"] = _joined(given, _LINE_2)


def _joined(address: Mapping[str, str], members: tuple[str, str]) -> str:
    return ", ".join(address[name] for name in members if address[name])


# --- Ways to pay and ship ----------------------------------------------------------------------------------------------------

_show_payment = row_shower(
    (
        RecordField("payment_id", ID),
        RecordField("payment", TEXT),
        RecordField("position", NUMBER),
        RecordField("a_surcharge", MONEY),
        RecordField("p_surcharge", MONEY),
    )
)


def payment_shown(method: Record | None) -> Record:
    """Show how an order is paid; `{}` when nobody said."""
    return {} if method is None else _show_payment(method)


def _shipping_shown(method: Record | None, cost: str) -> list[Record]:
    """Show how an order travels, at what price."""
    if method is None:
        return []
    return [{**method, "shipping_id": str(method["shipping_id"]), "rate": cost, "group_key": "0"}]


def _first_id_from(value: Any, label: str) -> Any:
    found = ids_from(value, label)
    return found if found is ABSENT else next(iter(found), None)


FIRST_ID = ValueType(show=lambda number: str(number) if number else "", read=_first_id_from, seek=str)
"""One id where CS-Cart has room for several."""

# --- History -----------------------------------------------------------------------------------------------------------------

_show_step = row_shower(
    (
        RecordField("timestamp", UNIX),
        RecordField("status_from", ValueType(show=lambda letter: letter or "")),
        RecordField("forced", FLAG),
        RecordField("user_id", ValueType(show=lambda number: str(number or 0))),
    )
)


def history_shown(steps: list[Record]) -> list[Record]:
    """Show an order's life, oldest first."""
    return [_show_step(step) for step in steps]


# --- The whole record --------------------------------------------------------------------------------------------------------


def complete(record: Record) -> None:
    """Take the addresses up, and sort the lines into CS-Cart's product groups, one for each vendor."""
    _take_up_address(record, "b", record.pop("billing_address"))
    _take_up_address(record, "s", record.pop("shipping_address"))
    record["shipping"] = _shipping_shown(record["shipping"], record["shipping_cost"])
    record["product_groups"] = _groups(record)


def _groups(record: Record) -> list[Record]:
    groups: dict[str, Record] = {}
    for position, line in record["products"].items():
        group = groups.setdefault(
            line["company_id"],
            {"company_id": line["company_id"], "products": {}, "chosen_shippings": record["shipping"]},
        )
        group["products"][position] = line
    return list(groups.values())


# --- Filters -----------------------------------------------------------------------------------------------------------------

_CUSTOM = "custom"


def placed_within(given: Mapping[str, list[str]], scope: Scope) -> dict[str, Any]:
    """Read `period` (the contract's words, CS-Cart's letters) and, alone or for `custom`, `time_from` and `time_to`."""
    begin, end = (_moment(given, name) for name in ("time_from", "time_to"))
    span: Span | None = clock.period(given.get("period", [_CUSTOM])[-1], scope.now, begin, end)
    if span is None:
        raise Malformed(f"period is {shown(given['period'])}")
    bounds = zip(("created_from", "created_before"), span, strict=True)
    return {name: bound.isoformat() for name, bound in bounds if bound is not None}


def _moment(given: Mapping[str, list[str]], name: str) -> datetime | None:
    return moment_from(given[name][-1]) if name in given else None
