"""The statements of the hand-written limit: each builds the complete response. `$1` is the store, `$2` the record."""

from __future__ import annotations

from collections.abc import Mapping

from bench.contestants.json_sql import (
    Style,
    Value,
    array,
    constant,
    keyed,
    moment,
    money,
    number,
    optional,
    optional_plain,
    optional_text,
    plain,
    record,
    rows,
    text,
    unix,
    yes_or_no,
)
from domain.orders.read import DELIVERY_TIME
from kernel.payload_fields import INTEGER, TEXT, TIME, UUID_TEXT
from kernel.product_fields import PRODUCT_RECORD

_NOT_DELETED = "t.tenant_id = $1 AND t.deleted_at IS NULL"
_NEWEST = "ORDER BY t.created_at DESC, t.id DESC LIMIT"

# --- GraphQL ----------------------------------------------------------------------------------------------------------

_CATEGORY = optional(
    record({"id": plain("c.public_id"), "name": text("c.name")}),
    "FROM categories c WHERE c.tenant_id = $1 AND c.id = t.category_id",
)
_IMAGES = array(
    record({"url": text("i.url"), "alt": text("i.alt")}),
    "FROM product_images i WHERE i.tenant_id = $1 AND i.product_id = t.id",
    "i.position, i.id",
)
_PRODUCT = record(
    {
        "id": plain("t.public_id"),
        "name": text("t.name"),
        "price_cents": number("t.price_cents"),
        "category": _CATEGORY,
        "images": _IMAGES,
    }
)
_LINES = array(
    record(
        {
            "name": text("l.product_name"),
            "quantity": number("l.quantity"),
            "price_cents": number("l.price_cents"),
        }
    ),
    "FROM order_lines l WHERE l.tenant_id = $1 AND l.order_id = t.id",
    "l.position",
)
_CUSTOMER = record(
    {
        "id": optional_plain("(SELECT u.public_id FROM users u WHERE u.tenant_id = $1 AND u.id = t.user_id)"),
        "name": text("btrim(t.firstname || ' ' || t.lastname)"),
        "email": text("t.email"),
    }
)
_ORDER = {
    "id": plain("t.public_id"),
    "number": number("t.id"),
    "status": plain("t.status"),
    "total_cents": number("t.total_cents"),
}


def _data(key: str, value: Value) -> Value:
    return record({"data": record({key: value})})


def _one(key: str, value: Value, table: str) -> Value:
    return _data(key, optional(value, f"FROM {table} t WHERE {_NOT_DELETED} AND t.public_id = $2::uuid"))


# --- Admin API records --------------------------------------------------------------------------------------------

_CURRENCY = plain("(SELECT s.currency FROM tenants s WHERE s.id = $1)")
_BY_TYPE = {UUID_TEXT: plain, TEXT: text, INTEGER: number, f"{INTEGER} or null": number, TIME: moment}
_ADMIN_PRODUCT = record(
    {
        **{field.name: _BY_TYPE.get(field.type, plain)(f"t.{field.name}") for field in PRODUCT_RECORD},
        "id": plain("t.public_id"),
        "status": plain("t.status"),
        "currency": _CURRENCY,
        "category_id": optional_plain(
            "(SELECT c.public_id FROM categories c WHERE c.tenant_id = $1 AND c.id = t.category_id)"
        ),
        "category": _CATEGORY,
        "images": _IMAGES,
    }
)
_FISCAL_TEXTS = (
    "link_nota", "codigo_pedido_erp", "chave_nota", "xml_nota", "pdf_nota", "nota_fiscal", "base64_xml"
)  # fmt: skip
_ADMIN_ORDER = record(
    {
        **_ORDER,
        "subtotal_cents": number("t.subtotal_cents"),
        "shipping_cents": number("t.shipping_cents"),
        "discount_cents": number("t.discount_cents"),
        "currency": plain("t.currency"),
        "payment_status": plain("t.payment_status"),
        "delivery_time": text(DELIVERY_TIME),
        "tracking_code": optional_text("t.tracking_code"),
        "fiscal_data": record(
            {name: optional_text(f"(t.fields_data ->> '{name}')") for name in _FISCAL_TEXTS}
            | {"chave_nota_valid": number("((t.fields_data ->> 'chave_nota_valid') = 'Y')")}
        ),
        "customer": _CUSTOMER,
        "items": array(
            record(
                {
                    "product_id": optional_plain(
                        "(SELECT p.public_id FROM products p WHERE p.tenant_id = $1 AND p.id = l.product_id)"
                    ),
                    "name": text("l.product_name"),
                    "quantity": number("l.quantity"),
                    "price_cents": number("l.price_cents"),
                }
            ),
            "FROM order_lines l WHERE l.tenant_id = $1 AND l.order_id = t.id",
            "l.position",
        ),
        "created_at": moment("t.created_at"),
        "updated_at": moment("t.updated_at"),
    }
)


def _page(key: str, value: Value, table: str, size: int) -> Value:
    return record(
        {
            key: rows(value, f"FROM {table} t WHERE {_NOT_DELETED} {_NEWEST} {size}"),
            "total": number(f"(SELECT count(*) FROM {table} t WHERE {_NOT_DELETED})"),
            "page": constant("1"),
            "per_page": constant(str(size)),
        }
    )


def _bare(value: Value, table: str, key: str = "t.public_id = $2::uuid") -> Value:
    return optional(value, f"FROM {table} t WHERE {_NOT_DELETED} AND {key}")


# --- Legacy API records ----------------------------------------------------------------------------------------------

_LEGACY_LINE = {
    "item_id": plain("l.id"),
    "product_id": plain("coalesce(l.product_id, 0)"),
    "product": text("l.product_name"),
    "product_code": text("l.product_code"),
    "amount": plain("l.quantity"),
    "price": money("l.price_cents"),
    "base_price": money("l.base_price_cents"),
    "subtotal": money("(l.quantity * l.price_cents)"),
    "company_id": plain("coalesce(l.vendor_id, 0)"),
    "extra": Value("l.extra", "l.extra"),
}
_HTTP = "split_part(i.url, '://', 2)"
_PAIR = record(
    {
        "pair_id": plain("i.id"),
        "image_id": constant('"0"'),
        "detailed_id": plain("i.id"),
        "position": plain("i.position"),
        "detailed": record(
            {
                "object_id": plain("i.product_id"),
                "object_type": constant('"product"'),
                "image_path": text("i.url"),
                "http_image_path": text(f"'http://' || {_HTTP}"),
                "https_image_path": text(f"'https://' || {_HTTP}"),
                "alt": text("i.alt"),
                "image_x": plain("i.width"),
                "image_y": plain("i.height"),
            }
        ),
    }
)
_PAIRS = (
    "FROM product_images i WHERE i.tenant_id = $1 AND i.product_id = l.product_id ORDER BY i.position, i.id LIMIT 1"
)
_GROUP_LINE = {
    **_LEGACY_LINE,
    "main_pair": optional(_PAIR, _PAIRS, otherwise="{}"),
}
_SHIPPING = array(
    record(
        {
            "shipping_id": plain("m.id"),
            "shipping": text("m.name"),
            "delivery_time": text("m.delivery_time"),
            "rate": money("t.shipping_cents"),
            "group_key": constant('"0"'),
        }
    ),
    "FROM shipping_methods m WHERE m.tenant_id = $1 AND m.id = t.shipping_method_id",
)
_PAYMENT = optional(
    record(
        {
            "payment_id": plain("m.id"),
            "payment": text("m.name"),
            "description": text("m.description"),
            "instructions": text("m.instructions"),
            "status": plain("m.status"),
            "position": plain("m.position"),
            "a_surcharge": money("m.surcharge_cents"),
            "p_surcharge": money("m.surcharge_percent"),
            "processor_type": text("m.processor"),
        }
    ),
    "FROM payment_methods m WHERE m.tenant_id = $1 AND m.id = t.payment_method_id",
)
_LEGACY_TAX = record(
    {
        "description": text("x.name"),
        "rate_type": plain("x.rate_type"),
        "rate_value": plain("x.rate_value / 1000 || '.' || lpad((x.rate_value % 1000)::text, 3, '0')"),
        "price_includes_tax": yes_or_no("x.included"),
        "tax_subtotal": money("x.amount_cents"),
        "tax_id": plain("coalesce(x.tax_id, 0)"),
    }
)
_TAXES = keyed(
    "coalesce(x.tax_id, -x.position)",
    _LEGACY_TAX,
    "FROM order_taxes x WHERE x.tenant_id = $1 AND x.order_id = t.id",
    "x.position",
)
_PAYMENT_INFO = record(
    {
        "kind": text(
            "CASE WHEN r.gateway = '' THEN r.kind WHEN r.kind = 'CARD' THEN 'credit_card' ELSE lower(r.kind) END"
        ),
        "installments": plain("r.installments"),
        "amount": money("coalesce(r.paid_cents, r.amount_cents)"),
    }
)
_POINTS = record(
    {
        "reward": plain("t.points_earned"),
        "in_use": record({"points": plain("t.points_spent"), "cost": money("t.points_cents")}),
    }
)
_RECEIVED = (
    "FROM payments r WHERE r.tenant_id = $1 AND r.order_id = t.id"
    " AND r.status IN ('PAID', 'PARTIALLY_REFUNDED', 'REFUNDED', 'DISPUTED') ORDER BY r.sequence DESC LIMIT 1"
)
_HISTORY = array(
    record(
        {
            "timestamp": unix("h.at"),
            "status_from": plain("h.from_status"),
            "status": plain("h.to_status"),
            "forced": yes_or_no("h.forced"),
            "reason": text("h.reason"),
            "actor": plain("h.actor_kind"),
            "user_id": plain("coalesce(h.user_id, 0)"),
        }
    ),
    "FROM order_status_changes h WHERE h.tenant_id = $1 AND h.order_id = t.id",
    "h.at, h.id",
)


def _address(prefix: str) -> dict[str, Value]:
    members = ("firstname", "lastname", "city", "state", "country", "zipcode", "phone")
    values = {f"{prefix}_{name}": text(f"coalesce({prefix}.{name}, '')") for name in members}
    for key, first, second in (("address", "street", "number"), ("address_2", "complement", "district")):
        values[f"{prefix}_{key}"] = text(
            f"concat_ws(', ', nullif({prefix}.{first}, ''), nullif({prefix}.{second}, ''))"
        )
    return values


def _groups() -> Value:
    lines = "FROM order_lines l WHERE l.tenant_id = $1 AND l.order_id = t.id AND l.vendor_id IS NOT DISTINCT FROM g.vendor_id"
    group = record(
        {
            "company_id": plain("coalesce(g.vendor_id, 0)"),
            "products": keyed("l.position", record(_GROUP_LINE), lines, "l.position"),
            "chosen_shippings": _SHIPPING,
        }
    )
    grouped = (
        "FROM (SELECT vendor_id, min(position) AS first_position FROM order_lines"
        " WHERE tenant_id = $1 AND order_id = t.id GROUP BY vendor_id) g"
    )
    return array(group, grouped, "g.first_position")


_LEGACY_ORDER = record(
    {
        "order_id": plain("t.id"),
        "user_id": plain("coalesce(t.user_id, 0)"),
        "company_id": plain("coalesce(t.vendor_id, 0)"),
        "status": plain("t.status"),
        "is_parent_order": constant('"N"'),
        **dict.fromkeys(("parent_order_id", "issuer_id", "credit_memo_id"), constant('"0"')),
        "total": money("t.total_cents"),
        "subtotal": money("t.subtotal_cents"),
        "shipping_cost": money("t.shipping_cents"),
        "timestamp": unix("t.created_at"),
        "firstname": text("t.firstname"),
        "lastname": text("t.lastname"),
        "email": text("t.email"),
        "phone": text("t.phone"),
        "products": keyed(
            "l.position",
            record(_LEGACY_LINE),
            "FROM order_lines l WHERE l.tenant_id = $1 AND l.order_id = t.id",
            "l.position",
        ),
        "payment_id": plain("coalesce(t.payment_method_id, 0)"),
        "payment_method": _PAYMENT,
        "shipping_ids": plain("coalesce(t.shipping_method_id::text, '')"),
        "shipping": _SHIPPING,
        "discount": money("t.discount_cents"),
        "tax_subtotal": money("t.tax_cents"),
        "fields": Value("t.fields_data", "t.fields_data"),
        "notes": text("t.notes"),
        "details": text("t.details"),
        "ip_address": text("t.ip_address"),
        "shipment_ids": array(
            Value("s.id::text", "'\"' || s.id::text || '\"'"),
            "FROM shipments s WHERE s.tenant_id = $1 AND s.order_id = t.id",
            "s.id",
        ),
        "status_history": _HISTORY,
        "subtotal_discount": money("t.discount_cents"),
        "payment_surcharge": money("t.surcharge_cents"),
        "taxes": _TAXES,
        "payment_info": optional(_PAYMENT_INFO, _RECEIVED, otherwise="{}"),
        "points_info": _POINTS,
        "lang_code": plain(
            "coalesce((SELECT l.code FROM languages l WHERE l.tenant_id = $1 AND l.status = 'A' ORDER BY l.id LIMIT 1), 'pt')"
        ),
        **_address("b"),
        **_address("s"),
        "product_groups": _groups(),
    }
)
_LEGACY_ORDER_SOURCE = (
    "FROM orders t"
    " LEFT JOIN order_addresses b ON b.tenant_id = $1 AND b.order_id = t.id AND b.kind = 'B'"
    " LEFT JOIN order_addresses s ON s.tenant_id = $1 AND s.order_id = t.id AND s.kind = 'S'"
    f" WHERE {_NOT_DELETED} AND t.id = $2::bigint"
)

# --- All statements ---------------------------------------------------------------------------------------------------------------

READS: Mapping[str, Value] = {
    "Q1": _data("products", rows(_PRODUCT, f"FROM products t WHERE {_NOT_DELETED} {_NEWEST} 50")),
    "Q2": _data("products", rows(_PRODUCT, f"FROM products t WHERE {_NOT_DELETED} {_NEWEST} 10")),
    "Q3": _one("product", _PRODUCT, "products"),
    "Q4": _one("order", record({**_ORDER, "customer": _CUSTOMER, "items": _LINES}), "orders"),
    "Q5": _data(
        "orders",
        rows(record({**_ORDER, "items": _LINES}), f"FROM orders t WHERE {_NOT_DELETED} {_NEWEST} 50"),
    ),
    "R1": _page("products", _ADMIN_PRODUCT, "products", 50),
    "R3": _bare(_ADMIN_PRODUCT, "products"),
    "R4": _bare(_ADMIN_ORDER, "orders"),
    "R5": _page("orders", _ADMIN_ORDER, "orders", 50),
    "L2": optional(_LEGACY_ORDER, _LEGACY_ORDER_SOURCE),
}

SIGN_IN_USER = (
    "SELECT id, public_id, password_hash FROM users WHERE tenant_id = $1 AND email = $2 AND deleted_at IS NULL"
)

SIGN_IN = """
WITH touched AS (
    UPDATE users SET last_login_at = now() WHERE tenant_id = $1 AND id = $2 RETURNING id
), session AS (
    INSERT INTO sessions (tenant_id, public_id, user_id, expires_at)
    SELECT $1, $3, id, now() + interval '30 days' FROM touched RETURNING id
)
INSERT INTO refresh_tokens (tenant_id, public_id, session_id, token_hash, expires_at)
SELECT $1, $4, id, $5, now() + interval '30 days' FROM session
"""


def statement(item: str, style: Style) -> str:
    """Return the statement of a read workload."""
    return f"SELECT {READS[item].of(style)}"
