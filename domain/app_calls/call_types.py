"""The calls that an app may answer: their address and scope, their deadline, and the JSON schemas of what is sent and answered.

A kind has one address and one deadline; its schemas are the definitions of `schemas/<kind>.json`, which are published
(docs/reference/apps.md#calls-to-apps): `<action>_request` and `<action>_answer`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import fastjsonschema
import orjson

from kernel.text import has_forbidden_characters

SCHEMAS = Path(__file__).parent / "schemas"
MAX_ANSWER_BYTES = 65_536


class InvalidAnswer(Exception):
    """An answer that is no JSON, or not of the call's schema."""


@dataclass(frozen=True, slots=True)
class CallKind:
    """Calls with one address, which the app registers, and one deadline in seconds for the whole call."""

    name: str
    scope: str
    deadline_seconds: float

    @property
    def schemas(self) -> bytes:
        """Return the document with the schemas of its calls."""
        return (SCHEMAS / f"{self.name}.json").read_bytes()


@dataclass(frozen=True, slots=True)
class CallType:
    """One call of a kind; `subject` is the member of what is sent that names what the call is about, for the log."""

    kind: CallKind
    action: str
    subject: str = field(default="")

    @property
    def name(self) -> str:
        """Return the name that is sent, such as `payments.create`."""
        return f"{self.kind.name}.{self.action}"

    def parse_answer(self, body: bytes) -> dict[str, Any]:
        """Parse the answer and validate it against the schema; raise `InvalidAnswer`, which says where it is wrong."""
        try:
            answer = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise InvalidAnswer("the answer is no JSON") from error
        try:
            _validator(self, "answer")(answer)
        except fastjsonschema.JsonSchemaValueException as error:
            raise InvalidAnswer(f"the answer does not fit its schema: {_problem(error)}") from error
        if _has_forbidden_text(answer):
            raise InvalidAnswer("the answer has a text with NUL or too many combining marks")
        parsed: dict[str, Any] = answer
        return parsed


PAYMENTS = CallKind("payments", "handle_payments", 15.0)
# A cart is answered within four seconds: before the sources of its rates are given up (domain/carriers/source.py), so that a late app is
# logged and counted.
SHIPPING_RATES = CallKind("shipping_rates", "handle_shipping_rates", 3.7)
KINDS: Mapping[str, CallKind] = {kind.name: kind for kind in (PAYMENTS, SHIPPING_RATES)}

PAYMENT_CREATE = CallType(PAYMENTS, "create", "payment_id")
PAYMENT_READ = CallType(PAYMENTS, "read", "payment_id")
PAYMENT_CANCEL = CallType(PAYMENTS, "cancel", "charge_id")
PAYMENT_REFUND = CallType(PAYMENTS, "refund", "charge_id")
SHIPPING_RATES_QUOTE = CallType(SHIPPING_RATES, "quote")
CALL_TYPES: Mapping[str, CallType] = {
    call.name: call for call in (PAYMENT_CREATE, PAYMENT_READ, PAYMENT_CANCEL, PAYMENT_REFUND, SHIPPING_RATES_QUOTE)
}


@cache
def _validator(call: CallType, part: str) -> Callable[[Any], Any]:
    """Compile the schema of what is sent (`request`) or answered (`answer`)."""
    document = orjson.loads(call.kind.schemas)
    # Formats are not checked: what is read from the answer is parsed anyway.
    compiled: Callable[[Any], Any] = fastjsonschema.compile(
        {"$ref": f"#/definitions/{call.action}_{part}", **document}, use_default=False, use_formats=False
    )
    return compiled


def _problem(error: fastjsonschema.JsonSchemaValueException) -> str:
    """Return what is wrong without the value, which may be a customer's."""
    return str(error.message)[:200]


def _has_forbidden_text(value: object) -> bool:
    # Without recursion: members that the schema doesn't know may be nested deeper than Python can call.
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str) and has_forbidden_characters(each):
            return True
        if isinstance(each, dict):
            waiting += (*each, *each.values())
        elif isinstance(each, list):
            waiting += each
    return False
