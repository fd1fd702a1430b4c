"""Define the scalars.

Each code table (statuses, types) is a scalar of its own: output is always the one-letter code; input accepts the code in either case or
its long name (docs/reference/shared.md#statuses).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NewType

import orjson
import strawberry
from graphql import ConstValueNode, GraphQLError, GraphQLID, GraphQLScalarType
from strawberry.types.scalar import ScalarDefinition

from domain.payments.methods import decrypt_params, mask_params
from kernel import codes
from kernel.clock import format_rfc3339
from kernel.ids import PublicId, Reference, parse_reference
from kernel.scope import current_scope
from kernel.text import InvalidValue, has_forbidden_characters

ID = strawberry.ID
Text = str  # NUL is rejected in documents and bodies, before scalars are parsed
BigInt = NewType("BigInt", int)
DateTime = NewType("DateTime", datetime)
JSON = NewType("JSON", object)
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


def _error(message: str) -> GraphQLError:
    return GraphQLError(message)


# The families that name records by UUID only (docs/reference/shared.md#ids).
_UUID_FAMILIES = ("graphql", "current", "apps")


def _id_type() -> GraphQLScalarType:
    """Build the type `ID`, whose numbers name a record in the legacy family only."""

    def parse(value: Any) -> str:
        return by_family(GraphQLID.coerce_input_value(value))

    def parse_literal(node: ConstValueNode) -> str:
        assert GraphQLID.coerce_input_literal is not None
        return by_family(GraphQLID.coerce_input_literal(node))

    def by_family(value: str) -> str:
        return PublicId(value) if _requires_uuid() else value

    type_ = GraphQLScalarType(
        "VitrineID",
        description=GraphQLID.description,
        coerce_output_value=GraphQLID.coerce_output_value,
        coerce_input_value=parse,
        coerce_input_literal=parse_literal,
    )
    # graphql-core reserves the name for its own type when a type is created, and looks types up by name later.
    type_.name = "ID"
    return type_


def _requires_uuid() -> bool:
    scope = current_scope()
    return scope is not None and scope.family in _UUID_FAMILIES


def is_plain_id(value: object) -> bool:
    """Return whether an id is valid input of `ID` that needs no parsing."""
    return type(value) is str and not (value.isdecimal() and _requires_uuid())


def _parse_int64(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
            return int(value)
        raise _error(f"expected an integer, got {_truncate(value)}")
    if not -_INT64 <= value < _INT64:
        raise _error("the integer does not fit in 64 bits")
    return value


def _serialize_int(value: Any) -> int:
    return int(value)


_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d([Tt ]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d))?")


def _parse_time(value: Any) -> datetime:
    if isinstance(value, str) and _RFC3339.fullmatch(value):
        text = value.upper().replace("Z", "+00:00")
        try:
            parsed = datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", text))
            if parsed.tzinfo is None:
                return parsed.replace(tzinfo=UTC)
            # Converting the first or last day of the calendar to UTC may overflow.
            return parsed.astimezone(UTC)
        except (ValueError, OverflowError):
            pass
    raise _error(f"expected a time in RFC 3339 such as 2026-11-20T18:00:00Z, got {_truncate(value)}")


def _serialize_time(value: datetime) -> str:
    return format_rfc3339(value)


def _serialize_json(value: Any) -> Any:
    # asyncpg returns jsonb as text.
    return orjson.loads(value) if isinstance(value, str | bytes) else value


def _parse_json(value: Any) -> Any:
    if _has_forbidden(value):
        raise _error("a string must not hold NUL or lone surrogates")
    return value


def _parse_bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    raise _error("expected bytes, which only this program itself can give")


def _has_forbidden(value: Any) -> bool:
    if isinstance(value, str):
        return has_forbidden_characters(value)
    if isinstance(value, dict):
        return any(_has_forbidden(key) or _has_forbidden(item) for key, item in value.items())
    if isinstance(value, list):
        return any(_has_forbidden(item) for item in value)
    return isinstance(value, int) and not isinstance(value, bool) and not -_INT64 <= value < _INT64


def _truncate(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _code_scalar(name: str, table: codes.CodeTable, description: str) -> ScalarDefinition:
    names = ", ".join(f"`{code}` {table.name(code)}" for code in table.codes)

    def parse(value: Any) -> str:
        try:
            return codes.parse_code(value, table)
        except InvalidValue as problem:
            raise _error(str(problem)) from problem

    return strawberry.scalar(
        name=name,
        description=f"{description}, a one-letter code: {names}. Input also accepts the long names.",
        serialize=str,
        parse_value=parse,
    )


_ONE_LETTER = re.compile(r"[A-Za-z]")


def _extensible_code_scalar(name: str, table: codes.CodeTable, description: str) -> ScalarDefinition:
    names = ", ".join(f"`{code}` {table.name(code)}" for code in table.codes)

    def parse(value: Any) -> str:
        # A store may add codes of its own, which the domain validates.
        if isinstance(value, str) and _ONE_LETTER.fullmatch(value):
            return value.upper()
        try:
            return codes.parse_code(value, table)
        except InvalidValue as problem:
            raise _error(str(problem)) from problem

    return _scalar(
        name,
        f"{description}, a one-letter code: {names}, or a code added by the store. Input also accepts the long names.",
        str,
        parse,
    )


_ROLES = {name: code for code, name in codes.ROLE_NAMES.items()}


def _parse_role(value: Any) -> str:
    if isinstance(value, str) and value.lower() in _ROLES:
        return _ROLES[value.lower()]
    raise _error(f"role is {_truncate(value)}; expected one of admin, vendor, customer")


def _serialize_role(value: Any) -> str:
    return codes.ROLE_NAMES.get(value, str(value))


def _scalar(
    name: str, description: str, serialize: Callable[[Any], Any], parse: Callable[[Any], Any]
) -> ScalarDefinition:
    return strawberry.scalar(name=name, description=description, serialize=serialize, parse_value=parse)


_REVIEWS = codes.CodeTable("status", {"A": ("active", "approved"), "D": ("disabled",), "P": ("pending",)})

SCALARS: dict[object, ScalarDefinition] = {
    ID: ScalarDefinition(
        name="ID",
        description=GraphQLID.description,
        specified_by_url=None,
        serialize=None,
        parse_value=None,
        parse_literal=None,
        implementation=_id_type(),
    ),
    BigInt: _scalar("BigInt", "A signed 64-bit integer, serialized as a JSON integer.", _serialize_int, _parse_int64),
    DateTime: _scalar(
        "DateTime",
        "A date and time in RFC 3339 format, UTC, in whole seconds: `2026-11-20T18:00:00Z`.",
        _serialize_time,
        _parse_time,
    ),
    Bytes: _scalar("Bytes", "A raw request body, passed only in process.", lambda value: value.hex(), _parse_bytes),
    ProcessorParams: _scalar(
        "ProcessorParams",
        "The settings of a payment processor, an object; secrets are masked as `****`.",
        lambda sealed: mask_params(decrypt_params(bytes(sealed))),
        _parse_json,
    ),
    JSON: _scalar("JSON", "Any JSON value.", _serialize_json, _parse_json),
    ProductStatus: _code_scalar("ProductStatus", codes.PRODUCT_STATUSES, "The status of a product"),
    CategoryStatus: _code_scalar("CategoryStatus", codes.CATEGORY_STATUSES, "The status of a category"),
    OrderStatus: _extensible_code_scalar("OrderStatus", codes.ORDER_STATUSES, "The status of an order"),
    UserStatus: _code_scalar("UserStatus", codes.USER_STATUSES, "The status of an account"),
    UserType: _code_scalar("UserType", codes.USER_TYPES, "The type of an account"),
    Role: _scalar("Role", "The role of an account: `admin`, `vendor` or `customer`.", _serialize_role, _parse_role),
    UsergroupStatus: _code_scalar("UsergroupStatus", codes.CATEGORY_STATUSES, "The status of a usergroup"),
    UsergroupType: _code_scalar("UsergroupType", codes.USERGROUP_TYPES, "The type of a usergroup"),
    MembershipStatus: _code_scalar("MembershipStatus", codes.MEMBERSHIP_STATUSES, "The status of a membership"),
    VendorStatus: _code_scalar("VendorStatus", codes.VENDOR_STATUSES, "The status of a vendor"),
    SwitchStatus: _code_scalar(
        "SwitchStatus", codes.SWITCH_STATUSES, "The status of a record that can be enabled or disabled"
    ),
    ShipmentStatus: _extensible_code_scalar("ShipmentStatus", codes.SHIPMENT_STATUSES, "The status of a shipment"),
    ReviewStatus: _code_scalar("ReviewStatus", _REVIEWS, "The status of a review"),
    AllocationType: _code_scalar("AllocationType", codes.ALLOCATION_TYPES, "How a warehouse serves a usergroup"),
    CallRequestStatus: _code_scalar(
        "CallRequestStatus", codes.CALL_REQUEST_STATUSES, "The status of a callback request"
    ),
    FeatureType: _code_scalar("FeatureType", codes.FEATURE_TYPES, "The type of a feature"),
    OptionType: _code_scalar("OptionType", codes.OPTION_TYPES, "The type of an option"),
    ModifierType: _code_scalar("ModifierType", codes.MODIFIER_TYPES, "The type of a price modifier"),
    ExceptionType: _code_scalar("ExceptionType", codes.EXCEPTION_TYPES, "The type of an option exception"),
}

# The scalar of each filter value type (`models.queries.EntityFilter.value_type`).
FILTER_SCALARS: dict[str, Any] = {
    "id": ID,
    "text": Text,
    "big_int": BigInt,
    "cents": BigInt,
    "boolean": bool,
    "time": DateTime,
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


def parse_id(value: Any, *, numeric: bool = False) -> Reference | None:
    """Parse an id: a UUID or a legacy number; None if malformed. 0 is valid: in some fields and filters it means "none".

    `numeric`: the public id is a number, which every family accepts.
    """
    return 0 if value in ("0", 0) else parse_reference(str(value) if numeric else value)
