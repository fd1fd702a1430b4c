"""Describe what selling to companies needs: managers, terms of payment, partners, mixes, transactions, limits, scores."""

from __future__ import annotations

from typing import Any

from kernel.codes import SWITCH_STATUSES, TRANSACTION_TYPES
from kernel.text import Malformed, shown
from rest_facade.legacy.resource import QueryFilter, RecordField, Resource, id_field
from rest_facade.legacy.value_types import (
    EMAIL,
    ID,
    MONEY,
    NUMBER,
    SMALL_NUMBER,
    TEXT,
    UNIX,
    code,
    document,
    listed,
    shown_with,
    whole_from,
)

_STATUS = RecordField("status", code(SWITCH_STATUSES), "status", "status")
_TIMESTAMP = RecordField("timestamp", UNIX, filters="created_at")
_SEARCH = QueryFilter("q", "search", TEXT, many=False)
# The store's own words; phones are kept as they are given.
_PHONE = RecordField("phone", TEXT, "phone", "phone")
_WORDS = {
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


def _days_from(value: Any, label: str) -> list[int]:
    """Read the days to each payment: numbers or texts in a list or PHP's map, or one text with commas."""
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
    if value is not None and not isinstance(value, list | dict | int | float):
        raise Malformed(f"{label} is {shown(value)}; expected an array of whole numbers")
    return [whole_from(day, label) for day in listed([] if value is None else value)]


MANAGERS = Resource(
    path="managers",
    key="manager_id",
    thing="manager",
    area="b2b",
    operations="Manager",
    fields=(
        id_field("manager_id"),
        RecordField("name", TEXT, "name", "name"),
        RecordField("email", EMAIL, "email", "email"),
        _PHONE,
        RecordField("commission", MONEY, "commission_percent", "commission_percent"),
        _STATUS,
        RecordField("user_id", ID, "user_id", "user_id"),
        RecordField("balance", MONEY, filters="balance_cents"),
        _TIMESTAMP,
    ),
    required={"name": "name is required", "email": "email is required"},
    says={"user": "user_id"},
    filters=(_SEARCH,),
    sorts={
        "name": "NAME",
        "email": "EMAIL",
        "status": "STATUS",
        "timestamp": "CREATED_AT",
        "manager_id": "ID",
    },
    default_sort=("name", "asc"),
)
PAYMENT_CODES = Resource(
    path="payment_codes",
    key="payment_code_id",
    thing="payment code",
    area="b2b",
    operations="PaymentCode",
    does=("list", "create"),
    fields=(
        id_field("payment_code_id"),
        RecordField("code", TEXT, "code", "code"),
        RecordField("description", TEXT, "description", "description"),
        RecordField("installments", SMALL_NUMBER, "installments", "installments"),
        RecordField("days", shown_with(list, _days_from), "days"),
        RecordField("min_amount", MONEY, "min_amount_cents", "min_amount_cents"),
        _STATUS,
    ),
    required={"code": "code is required"},
    filters=(_SEARCH,),
    sorts={"code": "CODE", "status": "STATUS", "payment_code_id": "ID"},
    default_sort=("code", "asc"),
)
BUSINESS_PARTNERS = Resource(
    path="business_partners",
    key="partner_id",
    thing="business partner",
    area="b2b",
    operations="BusinessPartner",
    does=("list", "show", "create", "update"),
    fields=(
        id_field("partner_id"),
        RecordField("company", TEXT, "name", "name"),
        RecordField("CNPJ", document(14), "cnpj", "cnpj"),
        RecordField("email", EMAIL, "email", "email"),
        _PHONE,
        RecordField("contact_name", TEXT, "contact_name", "contact_name"),
        _STATUS,
        RecordField("credit_limit", MONEY, "credit_limit_cents", "credit_limit_cents"),
        RecordField("payment_code_id", ID, "payment_code_id", "payment_code_id"),
        RecordField("manager_id", ID, "manager_id", "manager_id"),
        _TIMESTAMP,
    ),
    required={"company": "company is required", "CNPJ": "CNPJ is required"},
    says={name: _WORDS[name] for name in ("manager", "payment code", "payment_code")},
    filters=(_SEARCH,),
    sorts={
        "company": "NAME",
        "email": "EMAIL",
        "CNPJ": "CNPJ",
        "status": "STATUS",
        "timestamp": "CREATED_AT",
        "partner_id": "ID",
    },
    default_sort=("company", "asc"),
)
MIX_PRODUCTS = Resource(
    path="mix_products",
    key="mix_product_id",
    thing="mix product",
    area="b2b",
    operations="MixProduct",
    does=("list", "create"),
    fields=(
        id_field("mix_product_id"),
        RecordField("product_id", ID, "product_id", "product_id"),
        RecordField("partner_id", ID, "partner_id", "partner_id"),
        RecordField("manager_id", ID, "manager_id", "manager_id"),
        RecordField("min_amount", NUMBER, "min_quantity", "min_quantity"),
        RecordField("price", MONEY, "price_cents", "price_cents"),
        _STATUS,
    ),
    required={"product_id": "product_id is required"},
    says={name: _WORDS[name] for name in ("product", "partner", "business partner", "manager")},
    sorts={"status": "STATUS", "mix_product_id": "ID"},
    default_sort=("mix_product_id", "asc"),
)
MANAGER_TRANSACTIONS = Resource(
    path="manager_transactions",
    key="transaction_id",
    thing="manager transaction",
    area="b2b",
    operations="ManagerTransaction",
    does=("list", "create"),
    fields=(
        id_field("transaction_id"),
        RecordField("manager_id", ID, "manager_id", "manager_id"),
        RecordField("order_id", ID, "order_id", "order_id"),
        RecordField("type", code(TRANSACTION_TYPES), "type", "type"),
        RecordField("amount", MONEY, "amount_cents", "amount_cents"),
        RecordField("description", TEXT, "description", "description"),
        _TIMESTAMP,
    ),
    required={"manager_id": "manager_id is required", "amount": "amount is required"},
    says={name: _WORDS[name] for name in ("manager", "order")},
    sorts={"timestamp": "CREATED_AT", "amount": "AMOUNT", "transaction_id": "ID"},
    default_sort=("transaction_id", "desc"),
)
ORDER_LIMIT = Resource(
    path="order_limit",
    key="order_limit_id",
    thing="order limit",
    area="b2b",
    operations="OrderLimit",
    does=("set",),
    fields=(
        id_field("order_limit_id"),
        RecordField("user_id", ID, "user_id"),
        RecordField("company_id", ID, "vendor_id"),
        RecordField("limit_amount", MONEY, "limit_cents"),
        RecordField("used_amount", MONEY),
        RecordField("available_amount", MONEY),
    ),
    required={"user_id": "user_id is required", "company_id": "company_id is required"},
    says={name: _WORDS[name] for name in ("user", "vendor")},
)
CREDIT_SCORE = Resource(
    path="credit_score",
    key="CNPJ",
    thing="company",
    area="b2b",
    operations="CreditScore",
    does=("ask",),
    fields=(
        RecordField("CNPJ", document(14), "cnpj"),
        RecordField("score", NUMBER),
        RecordField("risk", TEXT),
        RecordField("limit_suggested", MONEY),
        RecordField("source", TEXT),
        RecordField("checked_at", UNIX),
    ),
    required={"CNPJ": "CNPJ is required"},
)
B2B: tuple[Resource, ...] = (
    BUSINESS_PARTNERS,
    MANAGERS,
    PAYMENT_CODES,
    MIX_PRODUCTS,
    MANAGER_TRANSACTIONS,
    ORDER_LIMIT,
    CREDIT_SCORE,
)
