"""The statements of a storefront's single records, which build the complete response: `$1` is the store, `$2` the slug or the user.

Of promotions they know what the store has, as `storefront_rows` does: a percentage of the price of products below certain categories.
"""

from __future__ import annotations

from collections.abc import Mapping

from bench.contestants.json_sql import (
    Style,
    Value,
    array,
    moment,
    number,
    optional,
    optional_plain,
    optional_text,
    plain,
    record,
    rows,
    text,
)

_MODIFIERS = """(SELECT coalesce(sum(CASE v.modifier_type WHEN 'A' THEN v.modifier
        ELSE round(t.price_cents::numeric * v.modifier / 10000) END), 0)
    FROM combination_choices k JOIN option_variants v ON v.tenant_id = $1 AND v.id = k.variant_id
    WHERE k.tenant_id = $1 AND k.combination_id = c.id)"""
_COMBINATIONS = "FROM combinations c WHERE c.tenant_id = $1 AND c.product_id = t.id AND c.deleted_at IS NULL"
_REVIEWS = """FROM discussion_threads h JOIN discussion_posts d ON d.tenant_id = $1 AND d.thread_id = h.id
    WHERE h.tenant_id = $1 AND h.object_type = 'P' AND h.object_id = t.id AND d.status = 'A'"""


def _promotion(product: str) -> str:
    """Return the join of the promotion of a product, with its discount in cents."""
    return f"""LEFT JOIN LATERAL (
        SELECT m.name, ({product}.price_cents * (m.gifts -> 0 ->> 'value')::bigint + 50000) / 100000 AS cents,
            (m.gifts -> 0 ->> 'value')::bigint AS share FROM promotions m
        WHERE m.tenant_id = $1 AND m.deleted_at IS NULL AND m.status = 'A' AND m.zone = 'catalog' AND m.coupon_key = ''
            AND (m.from_at IS NULL OR m.from_at <= now()) AND (m.to_at IS NULL OR m.to_at >= now())
            AND EXISTS (SELECT FROM product_categories k JOIN categories a ON a.tenant_id = $1 AND a.id = k.category_id
                WHERE k.tenant_id = $1 AND k.product_id = {product}.id AND string_to_array(a.id_path, '/')
                    && ARRAY(SELECT jsonb_array_elements_text(m.rule #> '{{of,0,value}}')))
        ORDER BY m.priority, m.id LIMIT 1) m ON true"""


_PRICE = f"greatest(0, t.price_cents + c.price_cents + {_MODIFIERS})::bigint"


def _price_range(function: str) -> Value:
    return number(f"coalesce((SELECT {function}({_PRICE}) {_COMBINATIONS}), t.price_cents)")


def _link(alias: str) -> dict[str, Value]:
    """Return the members of an image that is a link, which has no sizes of its own."""
    return {
        "url": text(f"{alias}.url"),
        "srcset": number("NULL::text"),
        "alt": text(f"{alias}.alt"),
        "width": number(f"{alias}.width"),
        "height": number(f"{alias}.height"),
        "blurhash": number("NULL::text"),
    }


def _named(alias: str, *more: str) -> Value:
    return record({"id": plain(f"{alias}.public_id"), **{key: text(f"{alias}.{key}") for key in ("name", *more)}})


_PROMOTIONS = Value(
    "CASE WHEN m.name IS NULL THEN '[]'::json ELSE json_build_array(json_build_object('name', m.name)) END",
    "'[', CASE WHEN m.name IS NOT NULL THEN concat('{\"name\":', to_json(m.name), '}') END, ']'",
)
_OPTION = record(
    {
        "id": plain("o.public_id"),
        "name": text("o.name"),
        "type": plain("o.type"),
        "required": number("o.required"),
        "variants": array(
            record(
                {
                    "id": plain("v.public_id"),
                    "name": text("v.name"),
                    "modifier": number("v.modifier"),
                    "modifier_type": plain("v.modifier_type"),
                }
            ),
            "FROM option_variants v WHERE v.tenant_id = $1 AND v.option_id = o.id",
            "v.position, v.id",
        ),
    }
)
_COMBINATION = record(
    {
        "id": plain("c.public_id"),
        "sku": text("c.sku"),
        "gtin": text("c.gtin"),
        "pricing": optional(
            record(
                {
                    "price_cents": number("p.cents - coalesce((p.cents * m.share + 50000) / 100000, 0)"),
                    "base_cents": number("p.cents"),
                }
            ),
            f"FROM (SELECT {_PRICE} AS cents) p",
        ),
        "is_available": number(
            "(e.is_on_sale AND (t.tracking = 'D' OR greatest(t.min_quantity, 1) <= c.stock))",
        ),
        "stock": number("c.stock"),
        "choices": array(
            record({"option_id": plain("o.public_id"), "variant_id": plain("v.public_id")}),
            "FROM combination_choices k JOIN options o ON o.tenant_id = $1 AND o.id = k.option_id"
            " JOIN option_variants v ON v.tenant_id = $1 AND v.id = k.variant_id WHERE k.tenant_id = $1 AND k.combination_id = c.id",
            "k.option_id, k.id",
        ),
        "image": number("NULL::text"),
    }
)
_RELATED = record(
    {
        "id": plain("x.public_id"),
        "name": text("x.name"),
        "slug": text("x.slug"),
        "main_image": optional(
            record(_link("i")),
            "FROM product_images i WHERE i.tenant_id = $1 AND i.product_id = x.id AND i.position = 0 ORDER BY i.id LIMIT 1",
        ),
        "pricing": record(
            {"price_cents": number("x.price_cents - coalesce(m.cents, 0)"), "base_cents": number("x.price_cents")}
        ),
    }
)
_PRODUCT = record(
    {
        "id": plain("t.public_id"),
        **{name: text(f"t.{name}") for name in ("name", "sku", "description")},
        "currency": plain("(SELECT s.currency FROM tenants s WHERE s.id = $1)"),
        "is_available": number(
            "(e.is_on_sale AND (t.tracking = 'D' OR greatest(t.min_quantity, 1) <="
            f" coalesce((SELECT max(c.stock) {_COMBINATIONS}), t.stock)))"
        ),
        "available_quantity": number(
            "CASE WHEN NOT e.is_on_sale THEN 0 WHEN t.tracking <> 'D'"
            f" THEN coalesce((SELECT sum(c.stock)::bigint {_COMBINATIONS}), t.stock) END"
        ),
        # The store sells nothing in advance.
        "in_advance": number("false"),
        "available_since": number("t.available_since::text"),
        "is_edp": number("t.is_edp"),
        **{name: number(f"t.{name}") for name in ("min_quantity", "max_quantity", "compare_at_cents")},
        "price_range": record({"min_cents": _price_range("min"), "max_cents": _price_range("max")}),
        "pricing": record(
            {
                "price_cents": number("t.price_cents - coalesce(m.cents, 0)"),
                "base_cents": number("t.price_cents"),
                "discount_cents": number("coalesce(m.cents, 0)"),
                "promotions": _PROMOTIONS,
            }
        ),
        "seo": record(
            {"title": text("coalesce(nullif(t.page_title, ''), t.name)"), "description": text("t.meta_description")}
        ),
        "images": array(
            record({"id": plain("i.public_id"), **_link("i")}),
            "FROM product_images i WHERE i.tenant_id = $1 AND i.product_id = t.id",
            "i.position, i.id",
        ),
        "category": optional(
            record(
                {
                    "id": plain("c.public_id"),
                    "name": text("c.name"),
                    "slug": text("c.slug"),
                    "path": array(
                        _named("a", "slug"),
                        "FROM categories a WHERE a.tenant_id = $1 AND a.status = 'A'"
                        " AND a.id = ANY(string_to_array(c.id_path, '/')::bigint[])",
                        "cardinality(string_to_array(a.id_path, '/')), a.id",
                    ),
                }
            ),
            "FROM categories c WHERE c.tenant_id = $1 AND c.id = t.category_id AND c.status = 'A'",
        ),
        "vendor": optional(
            _named("v", "slug"), "FROM vendors v WHERE v.tenant_id = $1 AND v.id = t.vendor_id AND v.status = 'A'"
        ),
        "features": array(
            record(
                {
                    "id": plain("f.public_id"),
                    "value": text("coalesce(v.name, f.value)"),
                    "feature": optional(
                        record(
                            {
                                "id": plain("g.public_id"),
                                "name": text("g.name"),
                                "display_on_product": number("g.display_on_product"),
                            }
                        ),
                        "FROM features g WHERE g.tenant_id = $1 AND g.id = f.feature_id AND g.status = 'A'",
                    ),
                }
            ),
            "FROM feature_values f LEFT JOIN feature_variants v ON v.tenant_id = $1 AND v.id = f.variant_id"
            " WHERE f.tenant_id = $1 AND f.product_id = t.id",
            "f.feature_id, f.id",
        ),
        "options": array(
            _OPTION,
            "FROM product_options po JOIN options o ON o.tenant_id = $1 AND o.id = po.option_id"
            " WHERE po.tenant_id = $1 AND po.product_id = t.id AND o.status = 'A' AND o.deleted_at IS NULL",
            "o.position, o.id",
        ),
        "combinations": array(_COMBINATION, _COMBINATIONS, "c.position, c.id"),
        "average_rating": number(f"(SELECT avg(d.rating)::float8 {_REVIEWS})"),
        "review_count": number(f"(SELECT count(*) {_REVIEWS})"),
        "reviews": rows(
            record(
                {
                    "id": plain("d.public_id"),
                    "name": text("d.name"),
                    "rating": number("d.rating"),
                    "message": text("d.message"),
                    "created_at": moment("d.created_at"),
                }
            ),
            f"{_REVIEWS} ORDER BY d.created_at DESC, d.id DESC LIMIT 10",
        ),
        "related": rows(
            _RELATED,
            f"FROM products x {_promotion('x')} WHERE x.tenant_id = $1 AND x.category_id = t.category_id AND x.id <> t.id"
            " AND x.status = 'A' AND x.deleted_at IS NULL ORDER BY x.created_at DESC, x.id DESC LIMIT 4",
        ),
    }
)
_PRODUCT_SOURCE = f"""FROM products t {_promotion("t")}
    LEFT JOIN LATERAL (SELECT NOT EXISTS (SELECT FROM vendors v WHERE v.tenant_id = $1 AND v.id = t.vendor_id
        AND (v.status <> 'A' OR v.deleted_at IS NOT NULL)) AS is_on_sale) e ON true
    WHERE t.tenant_id = $1 AND t.slug = $2::text::varchar AND t.status = 'A' AND t.deleted_at IS NULL"""

_ADDRESS = ("name", "street", "number", "complement", "district", "city", "state", "zipcode", "country", "phone")


def _default_address(kind: str) -> Value:
    return optional(
        record({"id": plain("a.public_id")}),
        f"FROM user_addresses a WHERE a.tenant_id = $1 AND a.user_id = t.id AND a.is_default_{kind} ORDER BY a.id LIMIT 1",
    )


_ORDER = record(
    {
        "id": plain("o.public_id"),
        "number": number("o.id"),
        "status": plain("o.status"),
        "payment_status": plain("o.payment_status"),
        "total_cents": number("o.total_cents"),
        "created_at": moment("o.created_at"),
        "tracking_code": optional_text("o.tracking_code"),
        "items": array(
            record({"name": text("l.product_name"), "quantity": number("l.quantity")}),
            "FROM order_lines l WHERE l.tenant_id = $1 AND l.order_id = o.id",
            "l.position",
        ),
    }
)
_ORDERS = "FROM orders o WHERE o.tenant_id = $1 AND o.user_id = t.id AND o.deleted_at IS NULL"
_NEWEST_ORDERS = f"{_ORDERS} ORDER BY o.created_at DESC, o.id DESC LIMIT"
_CART = record(
    {
        "id": plain("c.public_id"),
        "total_cents": number("c.total_cents"),
        "items": array(
            record({"name": text("n.product_name"), "quantity": number("n.quantity")}),
            "FROM cart_items n WHERE n.tenant_id = $1 AND n.cart_id = c.id",
            "n.id",
        ),
    }
)
_ME = record(
    {
        "id": plain("t.public_id"),
        "name": text("t.name"),
        "email": optional_text("t.email"),
        "phone": optional_text("t.phone"),
        "points": number("t.points"),
        "addresses": array(
            record({"id": plain("a.public_id"), **{name: text(f"a.{name}") for name in _ADDRESS}}),
            "FROM user_addresses a WHERE a.tenant_id = $1 AND a.user_id = t.id",
            "a.id",
        ),
        "default_shipping_address": _default_address("shipping"),
        "default_billing_address": _default_address("billing"),
        "carts": rows(
            _CART,
            "FROM carts c WHERE c.tenant_id = $1 AND c.user_id = t.id AND c.status = 'open' AND c.expires_at > now()"
            " ORDER BY c.updated_at DESC, c.id DESC LIMIT 1",
        ),
        "orders": record(
            {
                "edges": rows(record({"node": _ORDER}), f"{_NEWEST_ORDERS} 10"),
                "page_info": record(
                    {
                        "has_next_page": number(f"(SELECT count(*) > 10 FROM (SELECT {_NEWEST_ORDERS} 11) x)"),
                        "end_cursor": optional_plain(
                            f"(SELECT min(x.at || ':' || x.id) FROM (SELECT o.created_at AS at, o.id {_NEWEST_ORDERS} 10) x)"
                        ),
                    }
                ),
            }
        ),
    }
)
_ACCOUNT = record(
    {
        "data": record(
            {
                "me": _ME,
                "two_factor": record(
                    {
                        "enabled": number(
                            "(EXISTS (SELECT FROM two_factors f WHERE f.tenant_id = $1 AND f.user_id = t.id"
                            " AND f.confirmed_at IS NOT NULL))"
                        ),
                        "recovery_codes_left": number(
                            "(SELECT count(*) FROM recovery_codes r WHERE r.tenant_id = $1 AND r.user_id = t.id AND r.used_at IS NULL)"
                        ),
                    }
                ),
                "sessions": array(
                    record(
                        {
                            "id": plain("s.public_id"),
                            "ip_address": text("s.ip_address"),
                            "user_agent": text("s.user_agent"),
                            "last_used_at": moment("s.last_used_at"),
                            "current": number("(s.public_id = $3::uuid)"),
                        }
                    ),
                    "FROM sessions s WHERE s.tenant_id = $1 AND s.user_id = t.id AND s.ended_at IS NULL AND s.expires_at > now()",
                    "s.last_used_at DESC, s.id DESC",
                ),
            }
        )
    }
)

READS: Mapping[str, Value] = {
    "S2": record({"data": record({"product": optional(_PRODUCT, _PRODUCT_SOURCE)})}),
    "S6": optional(_ACCOUNT, "FROM users t WHERE t.tenant_id = $1 AND t.public_id = $2::uuid AND t.deleted_at IS NULL"),
}

CHECK_OUT = """
SELECT json_build_object('id', o.public_id, 'number', o.id, 'status', o.status, 'total_cents', o.total_cents,
    'customer', json_build_object('id', u.public_id, 'email', u.email))
FROM check_out($1::uuid, $2::uuid, $3::uuid) o JOIN users u ON u.tenant_id = o.tenant_id AND u.id = o.user_id
"""
"""The checkout of `sql/writes.sql`; its response lacks the token, which is no part of the database."""


def statement(item: str, style: Style) -> str:
    """Return the statement of a read."""
    return f"SELECT {READS[item].of(style)}"
