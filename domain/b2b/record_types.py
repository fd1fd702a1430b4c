"""Create, update and delete the B2B record types, which differ only in their fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from domain.marketplace.vendors import cnpj_text
from domain.orders.draft import email_text
from kernel.codes import SWITCH_STATUSES
from kernel.errors import ValidationFailed
from kernel.fields import (
    MAX_QUANTITY,
    InputField,
    InputValues,
    cents,
    code_in,
    integer,
    name_text,
    read_fields,
    short_text,
    text,
)
from kernel.scope import Scope
from kernel.text import InvalidValue, repr_value
from models import audit
from models.b2b import BusinessPartner, Manager, MixProduct, PaymentCode
from models.base import SoftDeletable
from models.database import UniqueViolation, transaction, violated_constraint
from models.references import (
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

MAX_INSTALLMENTS = 360
MAX_DAYS = 3_650
_MAX_COMMISSION = 10_000


def payment_days(value: object) -> object:
    """Read the days until each payment: whole numbers, at most one per possible installment."""
    if value is None:
        return []
    if not isinstance(value, list) or len(value) > MAX_INSTALLMENTS:
        raise InvalidValue(f"is {repr_value(value)}; expected at most {MAX_INSTALLMENTS} whole numbers")
    return [integer(0, MAX_DAYS)(day) for day in value]


def required_cnpj(value: object) -> object:
    """Read a required CNPJ by its format; check digits are only validated by the credit score."""
    cnpj = cnpj_text(value)
    if cnpj is None:
        raise InvalidValue("is required")
    return cnpj


@dataclass(frozen=True)
class B2BRecordType:
    """A record type: its table, fields and references.

    `references` maps input names to the types they refer to (the column is the name with `_id`); those in `required` can't be omitted.
    `unique` maps constraint names to fields.
    """

    reference_type: ReferenceType
    model: type[SoftDeletable]
    fields: Mapping[str, InputField]
    references: Mapping[str, ReferenceType] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    unique: Mapping[str, str] = field(default_factory=dict)

    @property
    def audit_name(self) -> str:
        """Return the subject type for the audit log."""
        return self.reference_type.name.replace(" ", "_")

    async def create(self, scope: Scope, values: InputValues) -> int:
        """Create a record and return its internal id; raises ValidationFailed naming every invalid field."""
        columns = read_fields(self.fields, values, creating=True)
        for name in self.required:
            if values.get(name) is None:
                raise ValidationFailed(f"{name} is required", field=name, code="required")
        async with transaction(scope):
            columns |= await self._resolve_references(scope, values)
            row = self.model(**columns, created_at=scope.now, updated_at=scope.now)
            await self._save(row.save, columns)
            await audit.record(scope, f"{self.audit_name}.created", self.audit_name, row.public_id)
        return int(row.id)

    async def update(self, scope: Scope, record: object, values: InputValues) -> int:
        """Update a record partially and return its internal id."""
        columns = read_fields(self.fields, values)
        async with transaction(scope):
            record_id = await find(scope, self.reference_type, record)
            columns |= await self._resolve_references(scope, values)
            changed = self.model.filter(id=record_id)
            await self._save(lambda: changed.update(**columns, updated_at=scope.now), columns)
            details = {"fields": sorted(columns)}
            await audit.record(scope, f"{self.audit_name}.updated", self.audit_name, record_id, details)
        return record_id

    async def delete(self, scope: Scope, record: object) -> None:
        """Soft-delete a record; references to it remain."""
        async with transaction(scope):
            record_id = await find(scope, self.reference_type, record)
            await self.model.filter(id=record_id).update(deleted_at=scope.now, updated_at=scope.now)
            await audit.record(scope, f"{self.audit_name}.deleted", self.audit_name, record_id)

    async def _resolve_references(self, scope: Scope, values: InputValues) -> dict[str, int | None]:
        ids: dict[str, int | None] = {}
        for name, reference_type in self.references.items():
            if name in self.required and name in values:
                ids[f"{name}_id"] = await resolve(scope, reference_type, values[name], field=name)
            elif name in values:
                ids[f"{name}_id"] = await resolve_optional(scope, reference_type, values[name], field=name)
        return ids

    async def _save(self, write: Callable[[], Any], columns: Mapping[str, Any]) -> None:
        try:
            await write()
        except UniqueViolation as error:
            taken = self.unique.get(violated_constraint(error) or "")
            if taken is None:
                raise
            raise ValidationFailed(
                f"{taken} is {repr_value(columns.get(taken))}, which another {self.reference_type.name} has",
                field=taken,
                code=f"{taken}_taken",
            ) from error


_STATUS = InputField("status", code_in(SWITCH_STATUSES), code="status_invalid")
_NAME = InputField("name", name_text, code="name_invalid", required="name_required")

MANAGERS = B2BRecordType(
    MANAGER,
    Manager,
    {
        "name": _NAME,
        "email": InputField("email", email_text, code="email_invalid", required="required"),
        "phone": InputField("phone", short_text),
        "commission_percent": InputField(
            "commission_percent", integer(0, _MAX_COMMISSION), code="commission_invalid"
        ),
        "status": _STATUS,
    },
    references={"user": USER},
)
PAYMENT_CODES = B2BRecordType(
    PAYMENT_CODE,
    PaymentCode,
    {
        "code": InputField("code", name_text, code="code_invalid", required="required"),
        "description": InputField("description", text(10_000)),
        "installments": InputField("installments", integer(1, MAX_INSTALLMENTS), code="installments_invalid"),
        "days": InputField("days", payment_days, code="days_invalid"),
        "min_amount_cents": InputField("min_amount_cents", cents(), code="price_invalid"),
        "status": _STATUS,
    },
    unique={"payment_codes_code_key": "code"},
)
BUSINESS_PARTNERS = B2BRecordType(
    BUSINESS_PARTNER,
    BusinessPartner,
    {
        "name": _NAME,
        "cnpj": InputField("cnpj", required_cnpj, code="cnpj_invalid", required="required"),
        "email": InputField("email", email_text, code="email_invalid"),
        "phone": InputField("phone", short_text),
        "contact_name": InputField("contact_name", short_text),
        "credit_limit_cents": InputField("credit_limit_cents", cents(), code="price_invalid"),
        "status": _STATUS,
    },
    references={"payment_code": PAYMENT_CODE, "manager": MANAGER},
)
MIX_PRODUCTS = B2BRecordType(
    MIX_PRODUCT,
    MixProduct,
    {
        "min_quantity": InputField("min_quantity", integer(0, MAX_QUANTITY), code="quantity_invalid"),
        "price_cents": InputField("price_cents", cents(), code="price_invalid"),
        "status": _STATUS,
    },
    references={"product": PRODUCT, "partner": BUSINESS_PARTNER, "manager": MANAGER},
    required=("product",),
)
