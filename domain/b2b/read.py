"""Queryable B2B entities, visible to administrators only: filters and sort orders."""

from __future__ import annotations

from domain.filters import (
    PRODUCT_NAME,
    exact,
    exact_normalized,
    exact_second,
    ids,
    optional_references,
    references,
    sorts,
    statuses,
    substring,
)
from domain.visibility import VisibleRows
from kernel.documents import normalize_document
from models.reading.queries import Entity, Sort

_ROWS = VisibleRows(admin=("view_b2b",))
_CREATED = exact_second("t.created_at", "created within that second")


MANAGERS = Entity(
    table="managers",
    visible=_ROWS,
    filters={
        "id": ids("managers"),
        "status": statuses(),
        "search": substring("name or email", "t.name", "t.email"),
        **exact("text", "name", email="exact e-mail", phone="exact phone"),
        **exact("big_int", commission_percent="exact commission, in hundredths of a percent"),
        **exact("cents", balance_cents="exact balance, in cents"),
        "user_id": optional_references("users", "of any of these accounts; 0 means of none"),
        "created_at": _CREATED,
    },
    sorts=sorts("name", ("email", "e-mail"), "status", "created_at", "id"),
)
PAYMENT_CODES = Entity(
    table="payment_codes",
    visible=_ROWS,
    filters={
        "id": ids("payment codes"),
        "status": statuses(),
        "search": substring("code or description", "t.code", "t.description"),
        **exact("text", "code", "description"),
        **exact("big_int", installments="exact number of installments"),
        **exact("cents", min_amount_cents="exact minimum amount, in cents"),
        "created_at": _CREATED,
    },
    sorts=sorts("code", "status", "created_at", "id"),
)
BUSINESS_PARTNERS = Entity(
    table="business_partners",
    visible=_ROWS,
    filters={
        "id": ids("partners"),
        "status": statuses(),
        "search": substring("name or contact_name or email", "t.name", "t.contact_name", "t.email"),
        **exact(
            "text",
            "name",
            email="exact e-mail",
            phone="exact phone",
            contact_name="exact name of the contact",
        ),
        "cnpj": exact_normalized("t.cnpj", normalize_document, "exact CNPJ, with or without punctuation"),
        **exact("cents", credit_limit_cents="exact credit limit, in cents"),
        "payment_code_id": optional_references("payment_codes", "of any of these payment codes; 0 means of none"),
        "manager_id": optional_references("managers", "of any of these managers; 0 means of none"),
        "created_at": _CREATED,
    },
    sorts=sorts("name", ("email", "e-mail"), ("cnpj", "CNPJ"), "status", "created_at", "id"),
)
MIX_PRODUCTS = Entity(
    table="mix_products",
    visible=_ROWS,
    filters={
        "id": ids("entries"),
        "status": statuses(),
        "product_id": references("products", "of any of these products"),
        "partner_id": optional_references(
            "business_partners", "of any of these partners; 0 means of none", column="t.partner_id"
        ),
        "manager_id": optional_references("managers", "of any of these managers; 0 means of none"),
        "search": substring("product's name", PRODUCT_NAME),
        **exact("big_int", min_quantity="exact minimum quantity"),
        **exact("cents", price_cents="exact price, in cents"),
        "created_at": _CREATED,
    },
    sorts=sorts("status", "created_at", "id"),
    default_sort="id",
)
MANAGER_TRANSACTIONS = Entity(
    table="manager_transactions",
    visible=_ROWS,
    filters={
        "id": ids("transactions"),
        "manager_id": references("managers", "of any of these managers"),
        "order_id": optional_references("orders", "of any of these orders; 0 means of none"),
        **exact("transaction_type", "type"),
        **exact("cents", amount_cents="exact amount, in cents"),
        **exact("text", "description"),
        "search": substring("description", "t.description"),
        "created_at": _CREATED,
    },
    sorts={"amount": Sort("t.amount_cents", "bigint", "amount"), **sorts("created_at", "id")},
    default_sort="-id",
)
ORDER_LIMITS = Entity(
    table="order_limits",
    visible=_ROWS,
    filters={
        "id": ids("limits"),
        "user_id": references("users", "of any of these customers"),
        "vendor_id": references("vendors", "of any of these vendors"),
        **exact("cents", limit_cents="exact limit, in cents"),
    },
    sorts=sorts("created_at", "id"),
    default_sort="id",
)
