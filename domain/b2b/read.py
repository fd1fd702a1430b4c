"""Declare what of selling to companies can be read: by administrators alone."""

from __future__ import annotations

from collections.abc import Mapping

from domain.catalog.read import in_second, refers_to_or_none
from domain.visibility import Rows
from models.reading import Entity, EntityFilter, Sort, Where, any_of, named, refers_to

_ROWS = Rows(admin=("view_b2b",))
_ALIVE = "t.deleted_at IS NULL"


def _id(what: str) -> EntityFilter:
    return EntityFilter("id", named, f"any of these {what}", many=True)


def _exact(column: str, what: str) -> EntityFilter:
    return EntityFilter("text", any_of(f"t.{column}"), f"exact {what}", many=True)


def _cents(column: str, what: str) -> EntityFilter:
    return EntityFilter("cents", any_of(f"t.{column}", "bigint"), f"exact {what}, in cents", many=True)


def _number(column: str, what: str) -> EntityFilter:
    return EntityFilter("big_int", any_of(f"t.{column}", "bigint"), f"exact {what}", many=True)


def _refers(column: str, table: str, what: str) -> EntityFilter:
    return EntityFilter("id", refers_to(f"t.{column}", table), f"of any of these {what}", many=True)


def _refers_or_none(column: str, table: str, what: str) -> EntityFilter:
    """Find by what a row refers to; the legacy layer's 0 stands for nothing."""
    return EntityFilter(
        "id", refers_to_or_none(f"t.{column}", table), f"of any of these {what}; 0 means of none", many=True
    )


def _search(*columns: str) -> EntityFilter:
    """Find a part of any of the columns, blind to case and accents."""
    parts = " OR ".join(
        f"strpos(vitrine_fold(t.{column}), vitrine_fold({{}}::text)) > 0" for column in columns
    )
    what = " or ".join(columns)
    return EntityFilter("text", lambda text: Where(parts, (text,) * len(columns)), f"part of the {what}")


_STATUS = EntityFilter("switch_status", any_of("t.status"), "any of these statuses", many=True)
_CREATED = EntityFilter("time", in_second("t.created_at"), "made in that second", many=True, internal=True)
_BY_ID = Sort("t.id", "bigint", "order of entry")
_BY_CREATED = Sort("t.created_at", "timestamptz", "time of creation")
_BY_STATUS = Sort("t.status", "text", "status letter")


def _sorts(**own: Sort) -> Mapping[str, Sort]:
    return {**own, "created_at": _BY_CREATED, "id": _BY_ID}


MANAGERS = Entity(
    name="manager",
    table="managers",
    alive=_ALIVE,
    visible=_ROWS,
    filters={
        "id": _id("managers"),
        "status": _STATUS,
        "search": _search("name", "email"),
        "name": _exact("name", "name"),
        "email": _exact("email", "e-mail"),
        "phone": _exact("phone", "phone"),
        "commission_percent": _number("commission_percent", "commission, in hundredths of a percent"),
        "balance_cents": _cents("balance_cents", "balance"),
        "user_id": _refers_or_none("user_id", "users", "accounts"),
        "created_at": _CREATED,
    },
    sorts=_sorts(
        name=Sort("t.name", "text", "name"), email=Sort("t.email", "text", "e-mail"), status=_BY_STATUS
    ),
    default_sort="name",
)
PAYMENT_CODES = Entity(
    name="payment code",
    table="payment_codes",
    alive=_ALIVE,
    visible=_ROWS,
    filters={
        "id": _id("payment codes"),
        "status": _STATUS,
        "search": _search("code", "description"),
        "code": _exact("code", "code"),
        "description": _exact("description", "description"),
        "installments": _number("installments", "number of installments"),
        "min_amount_cents": _cents("min_amount_cents", "least amount"),
        "created_at": _CREATED,
    },
    sorts=_sorts(code=Sort("t.code", "text", "code"), status=_BY_STATUS),
    default_sort="code",
)
BUSINESS_PARTNERS = Entity(
    name="business partner",
    table="business_partners",
    alive=_ALIVE,
    visible=_ROWS,
    filters={
        "id": _id("partners"),
        "status": _STATUS,
        "search": _search("name", "contact_name", "email"),
        "name": _exact("name", "name"),
        "cnpj": _exact("cnpj", "CNPJ, without punctuation"),
        "email": _exact("email", "e-mail"),
        "phone": _exact("phone", "phone"),
        "contact_name": _exact("contact_name", "name of the contact"),
        "credit_limit_cents": _cents("credit_limit_cents", "credit limit"),
        "payment_code_id": _refers_or_none("payment_code_id", "payment_codes", "payment codes"),
        "manager_id": _refers_or_none("manager_id", "managers", "managers"),
        "created_at": _CREATED,
    },
    sorts=_sorts(
        name=Sort("t.name", "text", "name"),
        email=Sort("t.email", "text", "e-mail"),
        cnpj=Sort("t.cnpj", "text", "CNPJ"),
        status=_BY_STATUS,
    ),
    default_sort="name",
)
MIX_PRODUCTS = Entity(
    name="mix product",
    table="mix_products",
    alive=_ALIVE,
    visible=_ROWS,
    filters={
        "id": _id("entries"),
        "status": _STATUS,
        "product_id": _refers("product_id", "products", "products"),
        "partner_id": _refers_or_none("partner_id", "business_partners", "partners"),
        "manager_id": _refers_or_none("manager_id", "managers", "managers"),
        "min_quantity": _number("min_quantity", "least quantity"),
        "price_cents": _cents("price_cents", "price"),
        "created_at": _CREATED,
    },
    sorts=_sorts(status=_BY_STATUS),
    default_sort="id",
)
MANAGER_TRANSACTIONS = Entity(
    name="manager transaction",
    table="manager_transactions",
    visible=_ROWS,
    filters={
        "id": _id("transactions"),
        "manager_id": _refers("manager_id", "managers", "managers"),
        "order_id": _refers_or_none("order_id", "orders", "orders"),
        "type": _exact("type", "type, `C` credit or `D` debit"),
        "amount_cents": _cents("amount_cents", "amount"),
        "description": _exact("description", "description"),
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
        "id": _id("limits"),
        "user_id": _refers("user_id", "users", "buyers"),
        "vendor_id": _refers("vendor_id", "vendors", "vendors"),
        "limit_cents": _cents("limit_cents", "limit"),
    },
    sorts=_sorts(),
    default_sort="id",
)
