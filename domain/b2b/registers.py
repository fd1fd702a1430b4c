"""Keep the registers of selling to companies, which differ in nothing but their fields: make, change, hide, each with its audit line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from domain import audit
from domain.fields import (
    MAX_QUANTITY,
    Given,
    InputField,
    cents,
    code_in,
    name_text,
    read_fields,
    short_text,
    text,
    whole,
)
from domain.marketplace.vendors import cnpj_text
from domain.orders.draft import email_text
from domain.references import (
    BUSINESS_PARTNER,
    MANAGER,
    MIX_PRODUCT,
    PAYMENT_CODE,
    PRODUCT,
    USER,
    ReferenceType,
    find,
    resolve,
    resolve_optional,
)
from kernel.codes import SWITCH_STATUSES
from kernel.errors import ValidationFailed
from kernel.scope import Scope
from kernel.text import Malformed, shown
from models.b2b import BusinessPartner, Manager, MixProduct, PaymentCode
from models.base import Erasable
from models.database import UniqueViolation, constraint_of, transaction

MAX_INSTALLMENTS = 360
MAX_DAYS = 3_650
_WHOLE_PERCENT = 10_000


def days_of(value: object) -> object:
    """Read the days to each payment: whole numbers, none twice as many as there can be installments."""
    if value is None:
        return []
    if not isinstance(value, list) or len(value) > MAX_INSTALLMENTS:
        raise Malformed(f"is {shown(value)}; expected at most {MAX_INSTALLMENTS} whole numbers")
    return [whole(0, MAX_DAYS)(day) for day in value]


def company_number(value: object) -> object:
    """Read a CNPJ by its form, which must be there; the check digits are the credit score's business."""
    read = cnpj_text(value)
    if read is None:
        raise Malformed("is required")
    return read


@dataclass(frozen=True)
class Register:
    """Describe a register: its table, what a row holds, and what it refers to.

    `refers` maps the words a caller uses to the kinds they name (the column is the word with `_id`); those in `needs` can't be left
    out. `unique` maps the name of a constraint to the field it is about.
    """

    kind: ReferenceType
    model: type[Erasable]
    fields: Mapping[str, InputField]
    refers: Mapping[str, ReferenceType] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    unique: Mapping[str, str] = field(default_factory=dict)

    @property
    def word(self) -> str:
        """Give the name that audit lines use."""
        return self.kind.name.replace(" ", "_")

    async def create(self, scope: Scope, given: Given) -> int:
        """Make a row and give its internal id; raises ValidationFailed naming every wrong field."""
        columns = read_fields(self.fields, given, creating=True)
        for name in self.needs:
            if given.get(name) is None:
                raise ValidationFailed(f"{name} is required", field=name, code="required")
        async with transaction(scope):
            columns |= await self._references(scope, given)
            row = self.model(**columns, created_at=scope.now, updated_at=scope.now)
            await self._written(row.save, columns)
            await audit.record(scope, f"{self.word}.created", self.word, row.public_id)
        return int(row.id)

    async def update(self, scope: Scope, record: object, given: Given) -> int:
        """Change a row partially and give its internal id."""
        columns = read_fields(self.fields, given)
        async with transaction(scope):
            number = await find(scope, self.kind, record)
            columns |= await self._references(scope, given)
            changed = self.model.filter(id=number)
            await self._written(lambda: changed.update(**columns, updated_at=scope.now), columns)
            details = {"fields": sorted(columns)}
            await audit.record(scope, f"{self.word}.updated", self.word, number, details)
        return number

    async def delete(self, scope: Scope, record: object) -> None:
        """Hide a row; what refers to it goes on showing it."""
        async with transaction(scope):
            number = await find(scope, self.kind, record)
            await self.model.filter(id=number).update(deleted_at=scope.now, updated_at=scope.now)
            await audit.record(scope, f"{self.word}.deleted", self.word, number)

    async def _references(self, scope: Scope, given: Given) -> dict[str, int | None]:
        found: dict[str, int | None] = {}
        for name, kind in self.refers.items():
            if name in self.needs and name in given:
                found[f"{name}_id"] = await resolve(scope, kind, given[name], field=name)
            elif name in given:
                found[f"{name}_id"] = await resolve_optional(scope, kind, given[name], field=name)
        return found

    async def _written(self, write: Callable[[], Any], columns: Mapping[str, Any]) -> None:
        try:
            await write()
        except UniqueViolation as error:
            taken = self.unique.get(constraint_of(error) or "")
            if taken is None:
                raise
            raise ValidationFailed(
                f"{taken} is {shown(columns.get(taken))}, which another {self.kind.name} has",
                field=taken,
                code=f"{taken}_taken",
            ) from error


_STATUS = InputField("status", code_in(SWITCH_STATUSES), code="status_invalid")
_NAME = InputField("name", name_text, code="name_invalid", required="name_required")

MANAGERS = Register(
    MANAGER,
    Manager,
    {
        "name": _NAME,
        "email": InputField("email", email_text, code="email_invalid", required="required"),
        "phone": InputField("phone", short_text),
        "commission_percent": InputField(
            "commission_percent", whole(0, _WHOLE_PERCENT), code="commission_invalid"
        ),
        "status": _STATUS,
    },
    refers={"user": USER},
)
PAYMENT_CODES = Register(
    PAYMENT_CODE,
    PaymentCode,
    {
        "code": InputField("code", name_text, code="code_invalid", required="required"),
        "description": InputField("description", text(10_000)),
        "installments": InputField("installments", whole(1, MAX_INSTALLMENTS), code="installments_invalid"),
        "days": InputField("days", days_of, code="days_invalid"),
        "min_amount_cents": InputField("min_amount_cents", cents(), code="price_invalid"),
        "status": _STATUS,
    },
    unique={"payment_codes_code_key": "code"},
)
BUSINESS_PARTNERS = Register(
    BUSINESS_PARTNER,
    BusinessPartner,
    {
        "name": _NAME,
        "cnpj": InputField("cnpj", company_number, code="cnpj_invalid", required="required"),
        "email": InputField("email", email_text, code="email_invalid"),
        "phone": InputField("phone", short_text),
        "contact_name": InputField("contact_name", short_text),
        "credit_limit_cents": InputField("credit_limit_cents", cents(), code="price_invalid"),
        "status": _STATUS,
    },
    refers={"payment_code": PAYMENT_CODE, "manager": MANAGER},
)
MIX_PRODUCTS = Register(
    MIX_PRODUCT,
    MixProduct,
    {
        "min_quantity": InputField("min_quantity", whole(0, MAX_QUANTITY), code="quantity_invalid"),
        "price_cents": InputField("price_cents", cents(), code="price_invalid"),
        "status": _STATUS,
    },
    refers={"product": PRODUCT, "partner": BUSINESS_PARTNER, "manager": MANAGER},
    needs=("product",),
)
