"""The B2B record types, which differ only in their fields."""

from __future__ import annotations

from domain.marketplace.vendors import cnpj_text
from domain.records import Change, RecordType
from kernel.codes import SWITCH_STATUSES
from kernel.errors import ValidationFailed
from kernel.fields import MAX_QUANTITY, InputField, cents, code_in, email_text, integer, name_text, short_text, text
from kernel.text import InvalidValue, repr_value
from models.references import BUSINESS_PARTNER, MANAGER, PAYMENT_CODE, PRODUCT, USER
from models.tables.b2b import BusinessPartner, Manager, MixProduct, PaymentCode

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


def _code_taken(change: Change) -> ValidationFailed:
    code = repr_value(change.columns.get("code"))
    return ValidationFailed(f"code is {code}, which another payment code has", field="code", code="code_taken")


_STATUS = InputField("status", code_in(SWITCH_STATUSES), code="status_invalid")
_NAME = InputField("name", name_text, code="name_invalid", required="name_required")

MANAGERS = RecordType(
    Manager,
    {
        "name": _NAME,
        "email": InputField("email", email_text, code="email_invalid", required="required"),
        "phone": InputField("phone", short_text),
        "commission_percent": InputField("commission_percent", integer(0, _MAX_COMMISSION), code="commission_invalid"),
        "status": _STATUS,
    },
    references={"user": USER},
)
PAYMENT_CODES = RecordType(
    PaymentCode,
    {
        "code": InputField("code", name_text, code="code_invalid", required="required"),
        "description": InputField("description", text(10_000)),
        "installments": InputField("installments", integer(1, MAX_INSTALLMENTS), code="installments_invalid"),
        "days": InputField("days", payment_days, code="days_invalid"),
        "min_amount_cents": InputField("min_amount_cents", cents(), code="price_invalid"),
        "status": _STATUS,
    },
    unique={"payment_codes_code_key": _code_taken},
)
BUSINESS_PARTNERS = RecordType(
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
MIX_PRODUCTS = RecordType(
    MixProduct,
    {
        "min_quantity": InputField("min_quantity", integer(0, MAX_QUANTITY), code="quantity_invalid"),
        "price_cents": InputField("price_cents", cents(), code="price_invalid"),
        "status": _STATUS,
    },
    references={"product": PRODUCT, "partner": BUSINESS_PARTNER, "manager": MANAGER},
    required=("product",),
)
