"""Queryable B2B entities, visible to administrators only: filters and sort orders."""

from __future__ import annotations

from collections.abc import Mapping

from domain.filters import (
    BY_CREATED,
    BY_ID,
    BY_NAME,
    BY_STATUS,
    exact_cents,
    exact_integer,
    exact_second,
    exact_text,
    ids,
    optional_references,
    references,
    statuses,
    substring,
)
from domain.visibility import VisibleRows
from models.queries import Entity, Sort

_ROWS = VisibleRows(admin=("view_b2b",))
_ALIVE = "t.deleted_at IS NULL"


_CREATED = exact_second("t.created_at", "created within that second")


def _sorts(**own: Sort) -> Mapping[str, Sort]:
    return {**own, "created_at": BY_CREATED, "id": BY_ID}


MANAGERS = Entity(
    name="manager",
    table="managers",
    base_condition=_ALIVE,
    visible=_ROWS,
    filters={
        "id": ids("managers"),
        "status": statuses(),
        "search": substring("name or email", "t.name", "t.email"),
        "name": exact_text("t.name", "name"),
        "email": exact_text("t.email", "e-mail"),
        "phone": exact_text("t.phone", "phone"),
        "commission_percent": exact_integer("t.commission_percent", "commission, in hundredths of a percent"),
        "balance_cents": exact_cents("t.balance_cents", "balance, in cents"),
        "user_id": optional_references("t.user_id", "users", "of any of these accounts; 0 means of none"),
        "created_at": _CREATED,
    },
    sorts=_sorts(name=BY_NAME, email=Sort("t.email", "text", "e-mail"), status=BY_STATUS),
    default_sort="name",
)
PAYMENT_CODES = Entity(
    name="payment code",
    table="payment_codes",
    base_condition=_ALIVE,
    visible=_ROWS,
    filters={
        "id": ids("payment codes"),
        "status": statuses(),
        "search": substring("code or description", "t.code", "t.description"),
        "code": exact_text("t.code", "code"),
        "description": exact_text("t.description", "description"),
        "installments": exact_integer("t.installments", "number of installments"),
        "min_amount_cents": exact_cents("t.min_amount_cents", "minimum amount, in cents"),
        "created_at": _CREATED,
    },
    sorts=_sorts(code=Sort("t.code", "text", "code"), status=BY_STATUS),
    default_sort="code",
)
BUSINESS_PARTNERS = Entity(
    name="business partner",
    table="business_partners",
    base_condition=_ALIVE,
    visible=_ROWS,
    filters={
        "id": ids("partners"),
        "status": statuses(),
        "search": substring("name or contact_name or email", "t.name", "t.contact_name", "t.email"),
        "name": exact_text("t.name", "name"),
        "cnpj": exact_text("t.cnpj", "CNPJ, without punctuation"),
        "email": exact_text("t.email", "e-mail"),
        "phone": exact_text("t.phone", "phone"),
        "contact_name": exact_text("t.contact_name", "name of the contact"),
        "credit_limit_cents": exact_cents("t.credit_limit_cents", "credit limit, in cents"),
        "payment_code_id": optional_references(
            "t.payment_code_id", "payment_codes", "of any of these payment codes; 0 means of none"
        ),
        "manager_id": optional_references(
            "t.manager_id", "managers", "of any of these managers; 0 means of none"
        ),
        "created_at": _CREATED,
    },
    sorts=_sorts(
        name=BY_NAME,
        email=Sort("t.email", "text", "e-mail"),
        cnpj=Sort("t.cnpj", "text", "CNPJ"),
        status=BY_STATUS,
    ),
    default_sort="name",
)
MIX_PRODUCTS = Entity(
    name="mix product",
    table="mix_products",
    base_condition=_ALIVE,
    visible=_ROWS,
    filters={
        "id": ids("entries"),
        "status": statuses(),
        "product_id": references("t.product_id", "products", "of any of these products"),
        "partner_id": optional_references(
            "t.partner_id", "business_partners", "of any of these partners; 0 means of none"
        ),
        "manager_id": optional_references(
            "t.manager_id", "managers", "of any of these managers; 0 means of none"
        ),
        "min_quantity": exact_integer("t.min_quantity", "minimum quantity"),
        "price_cents": exact_cents("t.price_cents", "price, in cents"),
        "created_at": _CREATED,
    },
    sorts=_sorts(status=BY_STATUS),
    default_sort="id",
)
MANAGER_TRANSACTIONS = Entity(
    name="manager transaction",
    table="manager_transactions",
    visible=_ROWS,
    filters={
        "id": ids("transactions"),
        "manager_id": references("t.manager_id", "managers", "of any of these managers"),
        "order_id": optional_references("t.order_id", "orders", "of any of these orders; 0 means of none"),
        "type": exact_text("t.type", "type, `C` credit or `D` debit"),
        "amount_cents": exact_cents("t.amount_cents", "amount, in cents"),
        "description": exact_text("t.description", "description"),
        "created_at": _CREATED,
    },
    sorts=_sorts(amount=Sort("t.amount_cents", "bigint", "amount")),
    default_sort="-id",
)
ORDER_LIMITS = Entity(
    name="order limit",
    table="order_limits",
    visible=_ROWS,
    filters={
        "id": ids("limits"),
        "user_id": references("t.user_id", "users", "of any of these customers"),
        "vendor_id": references("t.vendor_id", "vendors", "of any of these vendors"),
        "limit_cents": exact_cents("t.limit_cents", "limit, in cents"),
    },
    sorts=_sorts(),
    default_sort="id",
)
