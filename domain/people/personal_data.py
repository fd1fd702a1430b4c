"""Where personal data of customers are: which rows of which table are a person's, what erasure does to them, what an export shows.

`PLACES` is the table of it, in the order of erasure (`domain.people.erasure`) and of an export (`domain.people.export`). What the law
keeps is in docs/security.md#erasure. `tests/graphql/test_erasure.py` fills every place and searches every column of the database.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from domain.orders.fiscal import FIELDS
from kernel.documents import CHAVE_NOTA_CHECK
from kernel.scope import Scope
from models.connection.database import fetch, fetchval

# Of an order's free fields, those of its invoice.
_INVOICE_FIELDS = ", ".join(f"'{name}'" for name in (*FIELDS, CHAVE_NOTA_CHECK, "cpf", "cnpj", "inscricao_estadual"))


@dataclass(frozen=True, slots=True)
class Person:
    """A person of a store: the numbers and ids of accounts, e-mails, orders, and the digits of telephones and documents.

    `kept` are the orders whose invoice data the law keeps.
    """

    users: Sequence[int] = ()
    public_ids: Sequence[UUID] = ()
    emails: Sequence[str] = ()
    phones: Sequence[str] = ()
    documents: Sequence[str] = ()
    orders: Sequence[int] = ()
    order_ids: Sequence[UUID] = ()
    kept: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """The rows `t` of a table that fulfil `condition`, and what an erasure does: it deletes them, or sets `change` (empty: nothing).

    Conditions and changes name attributes of `Person` in braces. An export leaves out the columns `internal` for the person itself;
    `exported` is False for what another place shows.
    """

    table: str
    condition: str
    change: Mapping[str, str] | None = None
    exported: bool = True
    internal: tuple[str, ...] = ()
    has_update_time: bool = False

    def erasure(self, scope: Scope, person: Person) -> tuple[str, list[Any]]:
        """Return the statement that erases, which affects only rows that change, and its parameters."""
        if self.change is None:
            return bind(
                f"DELETE FROM {self.table} t WHERE t.tenant_id = $1 AND ({self.condition})", person, scope.store.id
            )
        parameters: list[Any] = [scope.store.id]
        columns, values = ", ".join(f"t.{name}" for name in self.change), ", ".join(self.change.values())
        assignments = ", ".join(f"{name} = {value}" for name, value in self.change.items())
        if self.has_update_time:
            assignments += ", updated_at = $2"
            parameters.append(scope.now)
        return bind(
            f"UPDATE {self.table} t SET {assignments} WHERE t.tenant_id = $1 AND ({self.condition})"
            f" AND ROW({columns}) IS DISTINCT FROM ROW({values})",
            person,
            *parameters,
        )


def bind(sql: str, person: Person, *parameters: Any) -> tuple[str, list[Any]]:
    """Return a statement with further parameters in place of the names of attributes of a person, and all its parameters."""
    values = list(parameters)
    numbers: dict[str, int] = {}

    def parameter(match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in numbers:
            values.append(list(getattr(person, name)))
            numbers[name] = len(values)
        return f"${numbers[name]}::{_TYPES[name]}"

    return _NAME.sub(parameter, sql), values


_NAME = re.compile(r"\{([a-z_]+)\}")
_TYPES = {
    "users": "bigint[]",
    "public_ids": "uuid[]",
    "emails": "text[]",
    "phones": "text[]",
    "documents": "text[]",
    "orders": "bigint[]",
    "order_ids": "uuid[]",
    "kept": "bigint[]",
}

_OF_USER = "t.user_id = ANY({users})"
_OF_ORDER = "t.order_id = ANY({orders})"
_OF_SHIPMENT = (
    "EXISTS (SELECT FROM shipments s WHERE s.tenant_id = t.tenant_id AND s.id = t.shipment_id"
    f" AND {_OF_ORDER.replace('t.', 's.')})"
)
_OF_CART = "t.user_id = ANY({users}) OR t.customer_email = ANY({emails})"
# Numbers of Brazil with and without the prefix of the country.
DIGITS = r"regexp_replace(regexp_replace(t.phone, '\D', '', 'g'), '^(0|55)(\d{10,11})$', '\2')"
_HAS_TEXT_OPTION = "jsonb_path_exists(t.options, '$[*] ? (@.variant_id == null && @.value != \"\")')"
_OF_EVENT = (
    "t.subject_id = ANY({order_ids}) OR t.subject_id = ANY({public_ids}) OR lower(t.data ->> 'email') = ANY({emails})"
    " OR lower(t.data -> 'customer' ->> 'email') = ANY({emails}) OR (t.data -> 'customer' ->> 'id')::uuid = ANY({public_ids})"
)
_ABOUT_ORDER = (
    "EXISTS (SELECT FROM discussion_threads d WHERE d.tenant_id = t.tenant_id AND d.id = t.thread_id AND d.object_type = 'O'"
    " AND d.object_id = ANY({orders}))"
)
_SAYS_EMAIL = "EXISTS (SELECT FROM unnest({emails}) AS e WHERE strpos(lower(%s), e) > 0)"

_KEPT_DOCUMENTS = """coalesce((SELECT jsonb_strip_nulls(jsonb_build_object('cpf', u.cpf, 'cnpj', u.cnpj)) FROM users u
    WHERE u.tenant_id = t.tenant_id AND u.id = t.user_id), '{}'::jsonb)"""
_KEPT_FIELDS = f"""coalesce((SELECT jsonb_object_agg(f.key, f.value) FROM jsonb_each(t.fields_data) AS f
    WHERE f.key IN ({_INVOICE_FIELDS})), '{{}}'::jsonb)"""
_WITHOUT_TEXTS = """(SELECT coalesce(jsonb_agg(
        CASE WHEN o.value ->> 'variant_id' IS NULL THEN o.value - 'file' || '{"value": ""}'::jsonb ELSE o.value END ORDER BY o.position
    ), '[]'::jsonb)
    FROM jsonb_array_elements(t.options) WITH ORDINALITY AS o (value, position))"""
_WITHOUT_NOTES = f"""(SELECT coalesce(jsonb_object_agg(e.key, e.value), '{{}}'::jsonb) FROM jsonb_each(t.extra) AS e
    WHERE e.key = 'promotion_id' OR (e.key IN ('product_options', 'product_options_value') AND NOT {_HAS_TEXT_OPTION}))"""
_WITHOUT_CUSTOMER = """CASE WHEN jsonb_typeof(t.data -> 'customer') = 'object'
    THEN jsonb_set(t.data, ARRAY['customer'], (t.data -> 'customer') || '{"name": "", "email": ""}'::jsonb)
    WHEN t.data ? 'email' THEN t.data || '{"name": "", "email": ""}'::jsonb ELSE t.data END"""
# Bodies are read only where no charge says whose they are: there may be millions.
_BODY_OF_PERSON = """t.processed AND t.body <> ''::bytea AND (
    t.charge_id IN (SELECT c.charge_id FROM charges c WHERE c.tenant_id = t.tenant_id AND c.order_id = ANY({orders}))
    OR NOT EXISTS (SELECT FROM charges c WHERE c.tenant_id = t.tenant_id AND c.charge_id = t.charge_id AND c.order_id IS NOT NULL)
    AND EXISTS (SELECT FROM unnest({emails}) AS e WHERE strpos(lower(encode(t.body, 'escape')), e) > 0))"""
_NOTHING: Mapping[str, str] = {}

PLACES: tuple[Place, ...] = (
    # The job deletes the content at its next run.
    Place(
        "option_files",
        f"{_OF_ORDER} OR EXISTS (SELECT FROM carts c WHERE c.tenant_id = t.tenant_id AND c.id = t.cart_id"
        f" AND ({_OF_CART.replace('t.', 'c.')}))",
        {"file_name": "''", "cart_id": "null::bigint", "order_id": "null::bigint"},
    ),
    Place(
        "cart_items",
        "EXISTS (SELECT FROM carts c WHERE c.tenant_id = t.tenant_id AND c.id = t.cart_id"
        f" AND ({_OF_CART.replace('t.', 'c.')}))",
    ),
    Place("carts", _OF_CART),
    Place(
        "orders",
        "t.id = ANY({orders})",
        {
            **dict.fromkeys(("email", "phone", "fax", "ip_address", "notes", "details"), "''"),
            **{
                name: f"CASE WHEN t.id = ANY({{kept}}) THEN t.{name} ELSE '' END"
                for name in ("firstname", "lastname", "company_name")
            },
            "fields_data": f"CASE WHEN t.id = ANY({{kept}}) THEN {_KEPT_DOCUMENTS} || {_KEPT_FIELDS} ELSE '{{}}'::jsonb END",
        },
        # What a carrier asks for the whole order is between it and the store.
        internal=("details", "origin", "shipping_quote", "shipping_account"),
        has_update_time=True,
    ),
    # Another customer's order with the person's e-mail.
    Place(
        "orders",
        "t.email = ANY({emails}) AND t.id <> ALL({orders})",
        {"email": "''"},
        exported=False,
        has_update_time=True,
    ),
    Place("order_addresses", f"{_OF_ORDER} AND t.order_id <> ALL({{kept}})"),
    Place("order_addresses", "t.order_id = ANY({kept})", {"phone": "''"}),
    Place(
        "order_lines",
        _OF_ORDER,
        {"options": _WITHOUT_TEXTS, "extra": _WITHOUT_NOTES},
        internal=("commission_cents", "commission", "commission_type", "extra"),
    ),
    *(
        Place(table, _OF_ORDER, _NOTHING)
        for table in ("order_taxes", "order_allocations", "charges", "promotion_uses", "issued_coupons")
    ),
    Place(
        "payments",
        _OF_ORDER,
        {"card": "null::jsonb"},
        internal=("creation_hash", "attempted_at", "due_at", "attempts", "cancel_requested_at", "shares"),
    ),
    Place(
        "payment_refunds",
        "EXISTS (SELECT FROM payments p WHERE p.tenant_id = t.tenant_id AND p.id = t.payment_id"
        f" AND {_OF_ORDER.replace('t.', 'p.')})",
        _NOTHING,
        internal=("creation_hash", "attempted_at", "due_at", "attempts"),
    ),
    # Of the gateway that moves no money: what it had of a person goes with it.
    Place("sandbox_charges", "t.order_id = ANY({order_ids})", {"details": "'{}'::jsonb"}, exported=False),
    *(
        Place("order_status_changes", f"{_OF_ORDER} AND {condition}", change, internal=("reason", "user_id"))
        for condition, change in (("t.actor_kind <> 'system'", {"reason": "''"}), ("t.actor_kind = 'system'", _NOTHING))
    ),
    # A label names the address of delivery.
    Place("shipments", _OF_ORDER, {"comments": "''", "label_url": "''"}, internal=("label_url",)),
    Place("tracking_events", _OF_SHIPMENT, {"location": "''"}),
    Place("manager_transactions", _OF_ORDER, {"description": "''"}, exported=False),
    Place("gateway_notifications", _BODY_OF_PERSON, {"body": "''::bytea"}, exported=False),
    Place("outbox_events", _OF_EVENT, {"data": _WITHOUT_CUSTOMER}),
    Place("order_mails", _OF_ORDER, exported=False),
    Place("mails", "t.user_id = ANY({users}) OR lower(t.recipient) = ANY({emails})"),
    Place(
        "mailed_tokens",
        "t.user_id = ANY({users}) OR t.email = ANY({emails}) OR t.new_email = ANY({emails})",
        exported=False,
    ),
    Place("notifications", _OF_USER),
    Place(
        "review_images",
        "EXISTS (SELECT FROM discussion_posts p WHERE p.tenant_id = t.tenant_id AND p.id = t.post_id"
        f" AND ({_OF_USER.replace('t.', 'p.')} OR {_ABOUT_ORDER.replace('t.', 'p.')}))",
    ),
    # A rating stays, without its author and text: it is part of the product's.
    Place("discussion_posts", f"t.rating IS NULL AND ({_OF_USER} OR {_ABOUT_ORDER})"),
    Place(
        "discussion_posts",
        f"t.rating IS NOT NULL AND ({_OF_USER} OR {_ABOUT_ORDER})",
        dict.fromkeys(("name", "message", "ip_address"), "''"),
        has_update_time=True,
    ),
    Place("call_requests", f"{_OF_ORDER} OR {DIGITS} = ANY({{phones}})"),
    *(Place(table, "t.email = ANY({emails})") for table in ("subscribers", "stock_notices")),
    Place(
        "managers",
        f"{_OF_USER} OR lower(t.email) = ANY({{emails}})",
        dict.fromkeys(("name", "email", "phone"), "''"),
        has_update_time=True,
    ),
    Place(
        "business_partners",
        "lower(t.email) = ANY({emails})",
        dict.fromkeys(("email", "phone", "contact_name"), "''"),
        has_update_time=True,
    ),
    Place("credit_checks", "t.cnpj = ANY({documents})"),
    *(
        Place(table, _OF_USER)
        for table in ("order_limits", "user_addresses", "wishlist_items", "usergroup_memberships")
    ),
    Place("point_entries", _OF_USER, {"reason": "''"}),
    # Sessions and keys contain addresses and names; sessions are deleted together with their refresh tokens.
    *(Place(table, _OF_USER) for table in ("sessions", "api_keys")),
    *(
        Place(table, _OF_USER, exported=False)
        for table in ("legacy_tokens", "two_factors", "recovery_codes", "sign_in_challenges")
    ),
    *(
        Place(table, "t.subject IN (SELECT 'user:' || u FROM unnest({users}) AS u)", exported=False)
        for table in ("wrong_attempts", "lockouts")
    ),
    # Otherwise a repeated import would bring the person back.
    Place("external_references", "t.kind IN ('customer', 'user') AND t.local_id = ANY({users})"),
    Place("persisted_documents", _SAYS_EMAIL % "t.text", exported=False),
    Place("bulk_operations", f"t.due_at IS NULL AND {_SAYS_EMAIL % 't.document'}", {"document": "'#'"}, exported=False),
    Place("audit_entries", _OF_USER, _NOTHING),
    # What they uploaded; the job deletes the content at its next run, unless another record shows it.
    Place(
        "media_files",
        _OF_USER,
        {"file_name": "''", "alt": "''", "user_id": "null::bigint", "unused_since": "'epoch'::timestamptz"},
        has_update_time=True,
    ),
    Place(
        "users",
        "t.id = ANY({users})",
        {
            **dict.fromkeys(("email", "password_hash", "phone", "cpf", "cnpj"), "null"),
            **dict.fromkeys(("email_verified_at", "password_changed_at", "last_login_at"), "null::timestamptz"),
            **dict.fromkeys(("firstname", "lastname", "company_name", "image_url", "image_alt"), "''"),
            "media_id": "null::bigint",
            "status": "'D'",
            "privileges": "'{}'::text[]",
        },
        has_update_time=True,
    ),
)

_ACCOUNTS = """
SELECT id, public_id, email, phone, cpf, cnpj FROM users
WHERE tenant_id = $1 AND (id = ANY($2::bigint[]) OR email = ANY($3::text[]))
"""
_ORDERS = """
SELECT id, public_id, phone FROM orders
WHERE tenant_id = $1 AND (user_id = ANY($2::bigint[]) OR (user_id IS NULL AND email = ANY($3::text[]))) ORDER BY id
"""
# What was paid, shipped or fulfilled has an invoice, or should have.
_INVOICED = """
SELECT coalesce(array_agg(o.id), '{}') FROM orders o WHERE o.tenant_id = $1 AND o.id = ANY($2::bigint[]) AND (
    o.status NOT IN ('O', 'D', 'F', 'I') OR o.paid_cents > 0
    OR o.fields_data ?| ARRAY['chave_nota', 'nota_fiscal', 'xml_nota', 'base64_xml']
    OR EXISTS (SELECT FROM shipments s WHERE s.tenant_id = o.tenant_id AND s.order_id = o.id)
)
"""


async def load_person(scope: Scope, *, users: Iterable[int] = (), email: str | None = None) -> Person:
    """Return the person with these accounts or this e-mail, among them deleted accounts and guests' orders with the same e-mail."""
    emails = {email} if email else set()
    accounts = await fetch(_ACCOUNTS, scope.store.id, list(users), list(emails))
    emails |= {account["email"] for account in accounts if account["email"]}
    # An account that was deleted leaves its e-mail to the next one.
    accounts = await fetch(_ACCOUNTS, scope.store.id, [account["id"] for account in accounts], sorted(emails))
    person = await _with_orders(scope, [account["id"] for account in accounts], sorted(emails))
    return replace(
        person,
        public_ids=[account["public_id"] for account in accounts],
        phones=sorted({*person.phones, *_telephones(accounts)}),
        documents=sorted({account[name] for account in accounts for name in ("cpf", "cnpj") if account[name]}),
    )


async def load_account_alone(scope: Scope, user_id: int) -> Person:
    """Return what belongs to an account for certain: its e-mail, telephone and documents may be another person's."""
    [account] = await fetch(_ACCOUNTS, scope.store.id, [user_id], [])
    person = await _with_orders(scope, [user_id], [])
    return replace(person, public_ids=[account["public_id"]], phones=())


async def _with_orders(scope: Scope, users: Sequence[int], emails: Sequence[str]) -> Person:
    orders = await fetch(_ORDERS, scope.store.id, users, emails)
    ids = [order["id"] for order in orders]
    return Person(
        users=users,
        emails=emails,
        phones=_telephones(orders),
        orders=ids,
        order_ids=[order["public_id"] for order in orders],
        kept=await fetchval(_INVOICED, scope.store.id, ids),
    )


def _telephones(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the digits of telephones as `DIGITS` does; fewer than eight identify no one."""
    digits = (re.sub(r"\D", "", row["phone"] or "") for row in rows)
    numbers = (re.sub(r"^(0|55)(\d{10,11})$", r"\2", number) for number in digits)
    return [number for number in numbers if len(number) >= 8]
