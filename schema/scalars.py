"""Define the scalars.

The statuses that a store can add to are scalars, all other codes are enums (`schema.enums`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from math import isfinite
from typing import Any, NewType

import strawberry
from graphql import (
    ConstValueNode,
    GraphQLError,
    GraphQLID,
    GraphQLScalarType,
    Undefined,
    ValueNode,
    value_from_ast_untyped,
)
from strawberry.types.scalar import ScalarDefinition

from domain.carriers import params as rate_params
from domain.payments.methods import decrypt_params, mask_params
from kernel import codes
from kernel.clock import format_rfc3339
from kernel.ids import PublicId, Reference, parse_reference
from kernel.received_files import ReceivedFile
from kernel.scope import requires_uuid
from kernel.text import InvalidValue, has_forbidden_characters, repr_value
from models.connection.database import json_value
from schema.enums import ENUMS, graphql_core_type

ID = strawberry.ID
Text = str  # NUL is rejected in documents and bodies, before scalars are parsed
BigInt = NewType("BigInt", int)
DateTime = NewType("DateTime", datetime)
JSON = NewType("JSON", object)
Bytes = NewType("Bytes", bytes)
Upload = NewType("Upload", ReceivedFile)
ProcessorParams = NewType("ProcessorParams", object)
RateParams = NewType("RateParams", object)

OrderStatus = NewType("OrderStatus", str)
ShipmentStatus = NewType("ShipmentStatus", str)

_INT64 = 2**63


def _error(message: str) -> GraphQLError:
    return GraphQLError(message)


def _id_type() -> GraphQLScalarType:
    """Build the type `ID`, whose numbers name a record in the legacy family only."""

    def parse(value: Any) -> str:
        return by_family(GraphQLID.coerce_input_value(value))

    def parse_literal(node: ConstValueNode) -> str:
        assert GraphQLID.coerce_input_literal is not None
        return by_family(GraphQLID.coerce_input_literal(node))

    def by_family(value: str) -> str:
        return PublicId(value) if requires_uuid() else value

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


def _parse_int64(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
            return int(value)
        raise _error(f"expected an integer, got {repr_value(value)}")
    if not -_INT64 <= value < _INT64:
        raise _error("the integer does not fit in 64 bits")
    return value


def _serialize_int(value: Any) -> int:
    return int(value)


# What is at either end of the calendar, asyncpg writes as infinite, and reads without a zone.
_FIRST_TIME = datetime.min.replace(microsecond=1, tzinfo=UTC)
_LAST_TIME = datetime.max.replace(microsecond=999_998, tzinfo=UTC)
_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d([Tt ]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d))?")


def _parse_time(value: Any) -> datetime:
    if isinstance(value, str) and _RFC3339.fullmatch(value):
        text = value.upper().replace("Z", "+00:00")
        try:
            parsed = datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", text))
            # Converting the first or last day of the calendar to UTC may overflow.
            parsed = parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
            return min(max(parsed, _FIRST_TIME), _LAST_TIME)
        except (ValueError, OverflowError):
            pass
    raise _error(f"expected a time in RFC 3339 such as 2026-11-20T18:00:00Z, got {repr_value(value)}")


def _serialize_time(value: datetime) -> str:
    return format_rfc3339(value)


def _parse_json(value: Any) -> Any:
    if _has_forbidden(value):
        raise _error("a string must not hold NUL or lone surrogates")
    return value


def _parse_json_literal(node: ValueNode, variables: dict[str, Any] | None = None) -> Any:
    return _parse_json(_without_absent(value_from_ast_untyped(node, variables)))


def _without_absent(value: Any) -> Any:
    """Return a literal without the variables that are left out: as in input objects and lists, no member, or null for an item."""
    if isinstance(value, dict):
        return {key: _without_absent(item) for key, item in value.items() if item is not Undefined}
    if isinstance(value, list):
        return [None if item is Undefined else _without_absent(item) for item in value]
    return value


def _parse_bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    raise _error("expected bytes, which only this program itself can give")


def _parse_upload(value: Any) -> ReceivedFile:
    if isinstance(value, ReceivedFile):
        return value
    raise _error("expected a file of a multipart request")


def _has_forbidden(value: Any) -> bool:
    if isinstance(value, str):
        return has_forbidden_characters(value)
    if isinstance(value, dict):
        return any(_has_forbidden(key) or _has_forbidden(item) for key, item in value.items())
    if isinstance(value, list):
        return any(_has_forbidden(item) for item in value)
    if isinstance(value, ReceivedFile):
        raise _error("expected JSON, got a file")
    if (isinstance(value, int) and not -_INT64 <= value < _INT64) or (isinstance(value, float) and not isfinite(value)):
        raise _error("a number must be a 64-bit integer or float")
    return False


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
        _JSON_STRING,
    )


# What values look like on the wire: the format of JSON, its numbers and strings, and that of times.
_JSON_FORMAT = "https://www.rfc-editor.org/rfc/rfc8259"
_JSON_NUMBER, _JSON_STRING = f"{_JSON_FORMAT}#section-6", f"{_JSON_FORMAT}#section-7"
_TIME_FORMAT = "https://www.rfc-editor.org/rfc/rfc3339#section-5.6"


def _scalar(
    name: str,
    description: str,
    serialize: Callable[[Any], Any],
    parse: Callable[[Any], Any],
    format_url: str,
    parse_literal: Callable[..., Any] | None = None,
) -> ScalarDefinition:
    return strawberry.scalar(
        name=name,
        description=description,
        serialize=serialize,
        parse_value=parse,
        parse_literal=parse_literal,
        specified_by_url=format_url,
    )


SCALARS: dict[object, ScalarDefinition] = {
    ID: graphql_core_type(_id_type()),
    BigInt: _scalar(
        "BigInt", "A signed 64-bit integer, serialized as a JSON integer.", _serialize_int, _parse_int64, _JSON_NUMBER
    ),
    DateTime: _scalar(
        "DateTime",
        "A date and time in RFC 3339 format, UTC, in whole seconds: `2026-11-20T18:00:00Z`.",
        _serialize_time,
        _parse_time,
        _TIME_FORMAT,
    ),
    Bytes: _scalar(
        "Bytes", "A raw request body, passed only in process.", lambda value: value.hex(), _parse_bytes, _JSON_STRING
    ),
    Upload: _scalar(
        "Upload",
        "A file, sent with the operation as a multipart request; in its place the variables hold null.",
        lambda file: file.file_name,
        _parse_upload,
        "https://github.com/jaydenseric/graphql-multipart-request-spec",
    ),
    ProcessorParams: _scalar(
        "ProcessorParams",
        "The settings of a payment processor, an object; secrets are masked as `****`.",
        lambda sealed: mask_params(decrypt_params(bytes(sealed))),
        _parse_json,
        _JSON_FORMAT,
        _parse_json_literal,
    ),
    RateParams: _scalar(
        "RateParams",
        "The parameters of a source of shipping rates, an object; its token is masked as `****`.",
        lambda sealed: rate_params.mask_params(rate_params.decrypt_params(bytes(sealed))),
        _parse_json,
        _JSON_FORMAT,
        _parse_json_literal,
    ),
    JSON: _scalar("JSON", "Any JSON value.", json_value, _parse_json, _JSON_FORMAT, _parse_json_literal),
    OrderStatus: _extensible_code_scalar("OrderStatus", codes.ORDER_STATUSES, "The status of an order"),
    ShipmentStatus: _extensible_code_scalar("ShipmentStatus", codes.SHIPMENT_STATUSES, "The status of a shipment"),
    **ENUMS,
}


def _filter_type(type_: Any) -> str:
    """Return how filters name a type of codes: `order_status` for OrderStatus."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", type_.__name__).lower()


# The scalar of each filter value type (`models.reading.queries.EntityFilter.value_type`).
FILTER_SCALARS: dict[str, Any] = {
    "id": ID,
    "text": Text,
    "big_int": BigInt,
    "cents": BigInt,
    "boolean": bool,
    "time": DateTime,
    **{_filter_type(type_): type_ for type_ in (OrderStatus, ShipmentStatus, *ENUMS)},
}

# Closed sets of which filters of the internal schema take any text: one outside of the set matches nothing.
FILTER_ENUMS = frozenset(
    {
        *("app_call_state", "media_status", "bulk_operation_kind", "bulk_operation_state", "delivery_state"),
        *("discussion_object_type", "exception_type", "feature_type", "notification_status", "notification_type"),
        *("option_type", "page_type", "ledger_entry_kind", "payout_status", "point_entry_kind", "promotion_zone"),
        *("status_type", "tax_address_type", "tax_rate_type", "transaction_type", "usergroup_type"),
    }
)


def parse_id(value: Any, *, numeric: bool = False) -> Reference | None:
    """Parse an id: a UUID or a legacy number; None if malformed. 0 is valid: in some fields and filters it means "none".

    `numeric`: the public id is a number, which every family accepts.
    """
    return 0 if value in ("0", 0) else parse_reference(str(value) if numeric else value)
