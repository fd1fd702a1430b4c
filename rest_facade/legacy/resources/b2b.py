"""Describe the B2B entities: managers, payment codes, partners, mix products, transactions, order limits, credit scores."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kernel.codes import SWITCH_STATUSES, TRANSACTION_TYPES
from kernel.json_schema import INTEGER, array
from rest_facade.legacy import value_types as types
from rest_facade.legacy.resource import SEARCH, RecordField, Resource, id_field, same_names

_STATUS = RecordField("status", types.code(SWITCH_STATUSES), "status", "status")
_TIMESTAMP = RecordField("timestamp", types.UNIX_TIME, filter_name="created_at")
# Phone numbers are stored as sent.
_PHONE = RecordField("phone", types.TEXT, "phone", "phone")
_TERMS = {
    "manager": "manager_id",
    "partner": "partner_id",
    "business partner": "partner_id",
    "payment code": "payment_code_id",
    "payment_code": "payment_code_id",
    "product": "product_id",
    "order": "order_id",
    "user": "user_id",
    "vendor": "company_id",
}


def _parse_days(value: Any, label: str) -> list[int]:
    """Parse the days to each installment: numbers or texts in a list or PHP's map, or one comma-separated text."""
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
    if value is not None and not isinstance(value, list | dict | int | float):
        raise types.unexpected(label, value, "an array of whole numbers")
    return [types.parse_integer(day, label) for day in types.as_list([] if value is None else value)]


MANAGERS = Resource(
    path="managers",
    privilege_area="b2b",
    fields=(
        id_field("manager_id"),
        RecordField("name", types.TEXT, "name", "name"),
        RecordField("email", types.EMAIL, "email", "email"),
        _PHONE,
        RecordField("commission", types.MONEY, "commission_percent", "commission_percent"),
        _STATUS,
        RecordField("user_id", types.ID, "user_id", "user_id"),
        RecordField("balance", replace(types.MONEY, schema=types.SIGNED_MONEY.schema), filter_name="balance_cents"),
        _TIMESTAMP,
    ),
    required=("name", "email"),
    message_terms={"user": "user_id"},
    filters=(SEARCH,),
    sorts=dict(name="NAME", email="EMAIL", status="STATUS", timestamp="CREATED_AT", manager_id="ID"),
)
PAYMENT_CODES = Resource(
    path="payment_codes",
    privilege_area="b2b",
    actions=("list", "create"),
    fields=(
        id_field("payment_code_id"),
        *same_names(types.TEXT, "code", "description"),
        RecordField("installments", types.INTEGER, "installments", "installments"),
        RecordField(
            "days",
            types.rendered_by(list, _parse_days, schema=array(INTEGER), body_schema=types.IDS.body_schema),
            "days",
        ),
        RecordField("min_amount", types.MONEY, "min_amount_cents", "min_amount_cents"),
        _STATUS,
    ),
    required=("code",),
    filters=(SEARCH,),
    sorts={"code": "CODE", "status": "STATUS", "payment_code_id": "ID"},
)
BUSINESS_PARTNERS = Resource(
    path="business_partners",
    key="partner_id",
    privilege_area="b2b",
    actions=("list", "show", "create", "update"),
    fields=(
        id_field("partner_id"),
        RecordField("company", types.TEXT, "name", "name"),
        RecordField("CNPJ", types.document(14), "cnpj", "cnpj"),
        RecordField("email", types.EMAIL, "email", "email"),
        _PHONE,
        RecordField("contact_name", types.TEXT, "contact_name", "contact_name"),
        _STATUS,
        RecordField("credit_limit", types.MONEY, "credit_limit_cents", "credit_limit_cents"),
        *same_names(types.ID, "payment_code_id", "manager_id"),
        _TIMESTAMP,
    ),
    required=("company", "CNPJ"),
    message_terms={name: _TERMS[name] for name in ("manager", "payment code", "payment_code")},
    filters=(SEARCH,),
    sorts=dict(company="NAME", email="EMAIL", CNPJ="CNPJ", status="STATUS", timestamp="CREATED_AT", partner_id="ID"),
)
MIX_PRODUCTS = Resource(
    path="mix_products",
    privilege_area="b2b",
    actions=("list", "create"),
    fields=(
        id_field("mix_product_id"),
        *same_names(types.ID, "product_id", "partner_id", "manager_id"),
        RecordField("min_amount", types.BIGINT, "min_quantity", "min_quantity"),
        RecordField("price", types.MONEY, "price_cents", "price_cents"),
        _STATUS,
    ),
    required=("product_id",),
    message_terms={name: _TERMS[name] for name in ("product", "partner", "business partner", "manager")},
    filters=(SEARCH,),
    sorts={"status": "STATUS", "mix_product_id": "ID"},
    default_sort=("mix_product_id", "asc"),
)
MANAGER_TRANSACTIONS = Resource(
    path="manager_transactions",
    key="transaction_id",
    privilege_area="b2b",
    actions=("list", "create"),
    fields=(
        id_field("transaction_id"),
        *same_names(types.ID, "manager_id", "order_id"),
        RecordField("type", types.code(TRANSACTION_TYPES), "type", "type"),
        RecordField("amount", types.MONEY, "amount_cents", "amount_cents"),
        RecordField("description", types.TEXT, "description", "description"),
        _TIMESTAMP,
    ),
    required=("manager_id", "amount"),
    message_terms={name: _TERMS[name] for name in ("manager", "order")},
    filters=(SEARCH,),
    sorts={"timestamp": "CREATED_AT", "amount": "AMOUNT", "transaction_id": "ID"},
    default_sort=("transaction_id", "desc"),
)
ORDER_LIMIT = Resource(
    path="order_limit",
    privilege_area="b2b",
    actions=("set",),
    fields=(
        id_field("order_limit_id"),
        RecordField("user_id", types.ID, "user_id"),
        RecordField("company_id", types.ID, "vendor_id"),
        RecordField("limit_amount", types.MONEY, "limit_cents"),
        RecordField("used_amount", types.MONEY, source="used_cents"),
        RecordField("available_amount", types.MONEY, source="available_cents"),
    ),
    required=("user_id", "company_id"),
    message_terms={name: _TERMS[name] for name in ("user", "vendor")},
)
CREDIT_SCORE = Resource(
    path="credit_score",
    key="CNPJ",
    display_name="company",
    privilege_area="b2b",
    operations="CreditScore",
    root_fields={"ask": "credit_check"},
    actions=("ask",),
    fields=(
        RecordField("CNPJ", types.document(14), "cnpj"),
        RecordField("score", types.BIGINT),
        RecordField("risk", types.TEXT),
        RecordField("limit_suggested", types.MONEY, source="limit_suggested_cents"),
        RecordField("source", types.TEXT),
        RecordField("checked_at", types.UNIX_TIME),
    ),
    required=("CNPJ",),
)
