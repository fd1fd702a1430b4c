"""Define the scalars.

A status letter is a scalar of its own for each entity: answers always show the letter, input takes the letter in either case or a
long label (decisions, section 1).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NewType

import orjson
import strawberry
from graphql import GraphQLError
from strawberry.types.scalar import ScalarDefinition

from domain.payments.methods import masked, opened
from kernel import codes
from kernel.clock import rfc3339
from kernel.ids import Reference, parse_reference
from kernel.text import Malformed, has_forbidden_characters

Ident = strawberry.ID
Text = str  # NUL is refused in documents and bodies, before any scalar
BigInt = NewType("BigInt", int)
Cents = NewType("Cents", int)
Time = NewType("Time", datetime)
Json = NewType("Json", object)
Bytes = NewType("Bytes", bytes)
ProcessorParams = NewType("ProcessorParams", object)

ProductStatus = NewType("ProductStatus", str)
CategoryStatus = NewType("CategoryStatus", str)
OrderStatus = NewType("OrderStatus", str)
UserStatus = NewType("UserStatus", str)
UserType = NewType("UserType", str)
Role = NewType("Role", str)
UsergroupStatus = NewType("UsergroupStatus", str)
UsergroupType = NewType("UsergroupType", str)
MembershipStatus = NewType("MembershipStatus", str)
VendorStatus = NewType("VendorStatus", str)
SwitchStatus = NewType("SwitchStatus", str)
ShipmentStatus = NewType("ShipmentStatus", str)
ReviewStatus = NewType("ReviewStatus", str)
CallRequestStatus = NewType("CallRequestStatus", str)
FeatureType = NewType("FeatureType", str)
OptionType = NewType("OptionType", str)
ModifierType = NewType("ModifierType", str)
ExceptionType = NewType("ExceptionType", str)
AllocationType = NewType("AllocationType", str)

_INT64 = 2**63


def _refuse(message: str) -> GraphQLError:
    return GraphQLError(message)


def _parse_int64(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
            return int(value)
        raise _refuse(f"expected an integer, got {_shown(value)}")
    if not -_INT64 <= value < _INT64:
        raise _refuse("the integer does not fit in 64 bits")
    return value


def _serialize_int(value: Any) -> int:
    return int(value)


_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d([Tt ]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d))?")


def _parse_time(value: Any) -> datetime:
    if isinstance(value, str) and _RFC3339.fullmatch(value):
        text = value.upper().replace("Z", "+00:00")
        try:
            moment = datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", text))
            if moment.tzinfo is None:
                return moment.replace(tzinfo=UTC)
            # The ends of the calendar leave it when they are moved to UTC.
            return moment.astimezone(UTC)
        except (ValueError, OverflowError):
            pass
    raise _refuse(f"expected a time in RFC 3339 such as 2026-11-20T18:00:00Z, got {_shown(value)}")


def _serialize_time(value: datetime) -> str:
    return rfc3339(value)


def _serialize_json(value: Any) -> Any:
    # asyncpg gives jsonb as text.
    return orjson.loads(value) if isinstance(value, str | bytes) else value


def _parse_json(value: Any) -> Any:
    if _has_forbidden(value):
        raise _refuse("a string must not hold NUL or lone surrogates")
    return value


def _parse_bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    raise _refuse("expected bytes, which only this program itself can give")


def _has_forbidden(value: Any) -> bool:
    if isinstance(value, str):
        return has_forbidden_characters(value)
    if isinstance(value, dict):
        return any(_has_forbidden(key) or _has_forbidden(item) for key, item in value.items())
    if isinstance(value, list):
        return any(_has_forbidden(item) for item in value)
    return isinstance(value, int) and not isinstance(value, bool) and not -_INT64 <= value < _INT64


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _code_scalar(name: str, table: codes.CodeTable, what: str) -> ScalarDefinition:
    words = ", ".join(f"`{letter}` {table.name(letter)}" for letter in table.codes)

    def parse(value: Any) -> str:
        try:
            return codes.parse_code(value, table)
        except Malformed as problem:
            raise _refuse(str(problem)) from problem

    return strawberry.scalar(
        name=name,
        description=f"{what}, one letter: {words}. Input takes the long names too.",
        serialize=str,
        parse_value=parse,
    )


_ONE_LETTER = re.compile(r"[A-Za-z]")


def _open_letters(name: str, table: codes.CodeTable, what: str) -> ScalarDefinition:
    words = ", ".join(f"`{letter}` {table.name(letter)}" for letter in table.codes)

    def parse(value: Any) -> str:
        # A store may add letters of its own; whether it did is for the domain to say.
        if isinstance(value, str) and _ONE_LETTER.fullmatch(value):
            return value.upper()
        try:
            return codes.parse_code(value, table)
        except Malformed as problem:
            raise _refuse(str(problem)) from problem

    return _scalar(
        name,
        f"{what}, one letter: {words}, or a letter the store added. Input takes the long names too.",
        str,
        parse,
    )


_ROLES = {"admin": "A", "vendor": "V", "customer": "C"}
_ROLE_NAMES = {letter: name for name, letter in _ROLES.items()}


def _parse_role(value: Any) -> str:
    if isinstance(value, str) and value.lower() in _ROLES:
        return _ROLES[value.lower()]
    raise _refuse(f"role is {_shown(value)}; expected one of admin, vendor, customer")


def _serialize_role(value: Any) -> str:
    return _ROLE_NAMES.get(value, str(value))


def _scalar(
    name: str, description: str, serialize: Callable[[Any], Any], parse: Callable[[Any], Any]
) -> ScalarDefinition:
    return strawberry.scalar(name=name, description=description, serialize=serialize, parse_value=parse)


_REVIEWS = codes.CodeTable("status", {"A": ("active", "approved"), "D": ("disabled",), "P": ("pending",)})

SCALARS: dict[object, ScalarDefinition] = {
    BigInt: _scalar(
        "BigInt", "An integer of up to 64 bits, written as a JSON integer.", _serialize_int, _parse_int64
    ),
    Time: _scalar(
        "DateTime",
        "A moment in RFC 3339, UTC, whole seconds: `2026-11-20T18:00:00Z`.",
        _serialize_time,
        _parse_time,
    ),
    Bytes: _scalar(
        "Bytes",
        "A body as it was sent, handed on within the program.",
        lambda value: value.hex(),
        _parse_bytes,
    ),
    ProcessorParams: _scalar(
        "ProcessorParams",
        "The settings of a payment processor, an object; secrets are shown as `****`.",
        lambda sealed: masked(opened(bytes(sealed))),
        _parse_json,
    ),
    Json: _scalar("JSON", "Any JSON value.", _serialize_json, _parse_json),
    ProductStatus: _code_scalar("ProductStatus", codes.PRODUCT_STATUSES, "The status of a product"),
    CategoryStatus: _code_scalar("CategoryStatus", codes.CATEGORY_STATUSES, "The status of a category"),
    OrderStatus: _open_letters("OrderStatus", codes.ORDER_STATUSES, "The status of an order"),
    UserStatus: _code_scalar("UserStatus", codes.USER_STATUSES, "The status of an account"),
    UserType: _code_scalar("UserType", codes.USER_TYPES, "The type of an account"),
    Role: _scalar(
        "Role", "The role of an account: `admin`, `vendor` or `customer`.", _serialize_role, _parse_role
    ),
    UsergroupStatus: _code_scalar("UsergroupStatus", codes.CATEGORY_STATUSES, "The status of a usergroup"),
    UsergroupType: _code_scalar("UsergroupType", codes.USERGROUP_TYPES, "The type of a usergroup"),
    MembershipStatus: _code_scalar(
        "MembershipStatus", codes.MEMBERSHIP_STATUSES, "The status of a membership"
    ),
    VendorStatus: _code_scalar("VendorStatus", codes.VENDOR_STATUSES, "The status of a vendor"),
    SwitchStatus: _code_scalar("SwitchStatus", codes.SWITCH_STATUSES, "Whether something is on or off"),
    ShipmentStatus: _open_letters("ShipmentStatus", codes.SHIPMENT_STATUSES, "The status of a shipment"),
    ReviewStatus: _code_scalar("ReviewStatus", _REVIEWS, "The status of a review"),
    AllocationType: _code_scalar("AllocationType", codes.ALLOCATION_TYPES, "How a warehouse serves a group"),
    CallRequestStatus: _code_scalar(
        "CallRequestStatus", codes.CALL_REQUEST_STATUSES, "The status of a request to be called"
    ),
    FeatureType: _code_scalar("FeatureType", codes.FEATURE_TYPES, "The type of a feature"),
    OptionType: _code_scalar("OptionType", codes.OPTION_TYPES, "The type of an option"),
    ModifierType: _code_scalar("ModifierType", codes.MODIFIER_TYPES, "How a variant changes the price"),
    ExceptionType: _code_scalar("ExceptionType", codes.EXCEPTION_TYPES, "The type of an exception"),
}

# Names of values in filters (`models.reading.EntityFilter.kind`) and the scalar each takes.
FILTER_KINDS: dict[str, Any] = {
    "id": Ident,
    "text": Text,
    "big_int": BigInt,
    "cents": BigInt,
    "boolean": bool,
    "time": Time,
    "product_status": ProductStatus,
    "category_status": CategoryStatus,
    "order_status": OrderStatus,
    "user_status": UserStatus,
    "user_type": UserType,
    "role": Role,
    "usergroup_status": UsergroupStatus,
    "vendor_status": VendorStatus,
    "switch_status": SwitchStatus,
    "shipment_status": ShipmentStatus,
    "review_status": ReviewStatus,
    "call_request_status": CallRequestStatus,
}


def reference(value: Any) -> Reference | None:
    """Read an id; a malformed one names nothing, so it gives None. 0 is the legacy layer's word for "none" and passes."""
    return 0 if value in ("0", 0) else parse_reference(value)
