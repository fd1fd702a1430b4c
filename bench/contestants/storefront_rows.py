"""The hand-written handlers of a storefront's pages: narrow statements, whose rows become JSON in Python.

A page takes as few statements as it can. Of promotions they know what the store has: a percentage of the price of products below certain
categories. What else the tables say of a price (other promotions, shipping rates, taxes) is looked up, and refused where it is there.
Texts are cast to varchar, because the limit's connections return text as bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any

import orjson

from bench.contestants.row_reads import Fetch, Read
from kernel.text import compound_words

_IMAGE = """LEFT JOIN LATERAL (SELECT i.url::varchar AS url, i.alt::varchar AS alt, i.width, i.height FROM product_images i
    WHERE i.tenant_id = $1 AND i.product_id = t.id AND i.position = 0 ORDER BY i.id LIMIT 1) i ON true"""
_IS_ON_SALE = """(t.status = 'A' AND t.deleted_at IS NULL AND NOT EXISTS (SELECT FROM vendors v
    WHERE v.tenant_id = $1 AND v.id = t.vendor_id AND (v.status <> 'A' OR v.deleted_at IS NOT NULL)))"""
_IS_AVAILABLE = f"""({_IS_ON_SALE} AND (t.tracking = 'D' OR greatest(t.min_quantity, 1) <= coalesce((SELECT max(c.stock) FROM combinations c
    WHERE c.tenant_id = $1 AND c.product_id = t.id AND c.deleted_at IS NULL), t.stock)))"""
_CATEGORIES = """ARRAY(SELECT a.id::bigint FROM product_categories k JOIN categories c ON c.tenant_id = $1 AND c.id = k.category_id,
    unnest(string_to_array(c.id_path, '/')) a (id) WHERE k.tenant_id = $1 AND k.product_id = t.id)"""
_RATING = """LEFT JOIN LATERAL (SELECT avg(d.rating)::float8 AS average, count(*) AS number FROM discussion_threads h
    JOIN discussion_posts d ON d.tenant_id = $1 AND d.thread_id = h.id
    WHERE h.tenant_id = $1 AND h.object_type = 'P' AND h.object_id = t.id AND d.status = 'A') r ON true"""
_CARD = "t.id, t.public_id::varchar, t.name::varchar, t.slug::varchar, t.price_cents"
_PICTURE = "i.url, i.alt, i.width, i.height"
_LIST = (
    f"SELECT {_CARD}, {_CATEGORIES}, {_IS_AVAILABLE}, {_PICTURE}, extract(epoch FROM t.created_at)::float8"
    f" FROM products t {_IMAGE} WHERE t.tenant_id = $1 AND t.status = 'A' AND t.deleted_at IS NULL ORDER BY"
)
_ENTRY_IS_AVAILABLE = """(e.in_stock AND (e.vendor_id IS NULL OR e.vendor_id <> ALL(ARRAY(SELECT v.id FROM vendors v
    WHERE v.tenant_id = $1 AND (v.status <> 'A' OR v.deleted_at IS NOT NULL)))))"""
_STEPS = tuple(digit * 10**power for power in range(3, 16) for digit in (1, 2, 5))[:37]

# One pass over the category's entries; `failed` has a bit for each of the two other choices.
_CATEGORY_SEARCH = f"""
WITH chosen AS (SELECT c.id FROM categories c WHERE c.tenant_id = $1 AND c.public_id = $2::uuid),
f AS MATERIALIZED (
    SELECT e.product_id AS id, e.price_cents, e.vendor_id, e.rating / 100 AS stars, e.category_ids, e.variant_ids, e.tags, a.is_available,
        (e.price_cents < $3)::int + 2 * (a.is_available <> $4)::int AS failed
    FROM search_entries e CROSS JOIN LATERAL (SELECT {_ENTRY_IS_AVAILABLE} AS is_available OFFSET 0) a
    WHERE e.tenant_id = $1 AND e.status = 'A' AND e.product_id = ANY(ARRAY(
        SELECT k.product_id FROM categories c JOIN product_categories k ON k.tenant_id = $1 AND k.category_id = c.id
        WHERE c.tenant_id = $1 AND (SELECT id FROM chosen) = ANY(string_to_array(c.id_path, '/')::bigint[])))
), e AS MATERIALIZED (SELECT * FROM f WHERE failed < 3)
SELECT json_build_object(
    'total', (SELECT count(*) FROM e WHERE failed = 0),
    'page', (SELECT json_agg(r) FROM (SELECT json_build_array(price_cents, id) AS r FROM e WHERE failed = 0
        ORDER BY price_cents, id LIMIT 25) x),
    'categories', (SELECT json_agg(json_build_array(public_id, name, n) ORDER BY position, id) FROM (
        SELECT c.id, c.public_id, c.name, c.position, u.n
        FROM (SELECT unnest(category_ids) AS id, count(*) AS n FROM e WHERE failed = 0 GROUP BY 1) u
        JOIN categories c ON c.tenant_id = $1 AND c.id = u.id AND c.parent_id = (SELECT id FROM chosen)
        WHERE c.status = 'A' AND c.deleted_at IS NULL ORDER BY c.position, c.id LIMIT 100) g),
    'vendors', (SELECT json_agg(json_build_array(public_id, name, n) ORDER BY n DESC, name, id) FROM (
        SELECT v.id, v.public_id, v.name, u.n FROM (SELECT vendor_id, count(*) AS n FROM e WHERE failed = 0 GROUP BY 1) u
        JOIN vendors v ON v.tenant_id = $1 AND v.id = u.vendor_id AND v.status = 'A' AND v.deleted_at IS NULL
        ORDER BY u.n DESC, v.name, v.id LIMIT 100) g),
    'prices', (SELECT json_agg(json_build_array(step, n) ORDER BY step) FROM (
        SELECT width_bucket(price_cents, '{{{",".join(map(str, _STEPS))}}}'::bigint[]) AS step, count(*) AS n
        FROM e WHERE failed IN (0, 1) GROUP BY 1) g),
    'ratings', (SELECT json_agg(json_build_array(stars, n)) FROM (
        SELECT stars, count(*) AS n FROM e WHERE failed = 0 GROUP BY 1) g),
    'availability', (SELECT json_agg(json_build_array(is_available, n) ORDER BY is_available DESC) FROM (
        SELECT is_available, count(*) AS n FROM e WHERE failed IN (0, 2) GROUP BY 1) g),
    'features', (SELECT json_agg(json_build_array(feature_id, feature, public_id, name, n) ORDER BY feature_position, number, place) FROM (
        SELECT f.public_id AS feature_id, f.name AS feature, f.position AS feature_position, f.id AS number, x.public_id, x.name, u.n,
            row_number() OVER (PARTITION BY f.id ORDER BY u.n DESC, x.position, x.id) AS place
        FROM (SELECT unnest(variant_ids) AS id, count(*) AS n FROM e WHERE failed = 0 GROUP BY 1) u
        JOIN feature_variants x ON x.tenant_id = $1 AND x.id = u.id
        JOIN features f ON f.tenant_id = $1 AND f.id = x.feature_id AND f.filterable AND f.status = 'A' AND f.deleted_at IS NULL
    ) g WHERE place <= 100),
    'tags', (SELECT json_agg(json_build_array(tag, n)) FROM (
        SELECT tag, count(*) AS n FROM (SELECT unnest(tags) AS tag FROM e WHERE failed = 0) u GROUP BY 1 ORDER BY n DESC, tag LIMIT 100) g))
"""
# Of one word. The score is that of the product's own search: words in the name, exact ones, availability.
_WORD_SEARCH = f"""
WITH matched AS MATERIALIZED (SELECT search_products(vitrine_products_query(ARRAY[$2::text], false)) AS id),
exact AS MATERIALIZED (SELECT search_products(vitrine_products_query(ARRAY[$2::text], true)) AS id),
e AS MATERIALIZED (
    SELECT e.product_id AS id, (((e.name_words @@ (SELECT vitrine_word_query($2::text)))::int * 17
        + (e.name_words @@ (SELECT vitrine_exact_query($2::text)))::int) * 2 + (x.id IS NOT NULL)::int) * 2
        + {_ENTRY_IS_AVAILABLE}::int AS key
    FROM search_entries e LEFT JOIN exact x ON x.id = e.product_id
    WHERE e.tenant_id = $1 AND e.status = 'A' AND e.product_id = ANY(ARRAY(SELECT id FROM matched)))
SELECT (SELECT count(*) FROM e), p.key, p.id FROM (SELECT key, id FROM e ORDER BY key DESC, id DESC LIMIT 25) p ORDER BY key DESC, id DESC
"""

STATEMENTS: Mapping[str, str] = {
    "promotions": """
        SELECT p.name::varchar, p.rule::varchar, p.gifts::varchar FROM promotions p
        WHERE p.tenant_id = $1 AND p.deleted_at IS NULL AND p.status = 'A' AND p.zone = 'catalog' AND p.coupon_key = ''
            AND (p.from_at IS NULL OR p.from_at <= now()) AND (p.to_at IS NULL OR p.to_at >= now()) ORDER BY p.priority, p.id""",
    "S1 CREATED_AT_DESC": f"{_LIST} t.created_at DESC, t.id DESC LIMIT 25",
    "S1 PRICE_ASC": f"{_LIST} t.price_cents, t.id LIMIT 25",
    "S3 category": """
        SELECT c.public_id::varchar, c.name::varchar, c.slug::varchar, c.description::varchar, c.image_url::varchar, c.image_alt::varchar,
            (SELECT json_agg(json_build_object('id', a.public_id, 'name', a.name, 'slug', a.slug)
                ORDER BY cardinality(string_to_array(a.id_path, '/')), a.id)
                FROM categories a WHERE a.tenant_id = $1 AND a.id = ANY(string_to_array(c.id_path, '/')::bigint[]) AND a.status = 'A'),
            (SELECT json_agg(json_build_object('id', k.public_id, 'name', k.name, 'slug', k.slug, 'product_count', (
                SELECT count(*) FROM product_categories pc JOIN products p ON p.tenant_id = $1 AND p.id = pc.product_id
                WHERE pc.tenant_id = $1 AND pc.category_id = k.id AND p.deleted_at IS NULL AND p.status = 'A')) ORDER BY k.position, k.id)
                FROM categories k WHERE k.tenant_id = $1 AND k.parent_id = c.id AND k.status = 'A' AND k.deleted_at IS NULL)
        FROM categories c WHERE c.tenant_id = $1 AND c.public_id = $2::uuid AND c.status = 'A' AND c.deleted_at IS NULL""",
    "S3 search": _CATEGORY_SEARCH,
    "S3 products": f"""
        SELECT {_CARD}, {_CATEGORIES}, {_IS_AVAILABLE}, {_PICTURE}, r.average, r.number
        FROM unnest($2::bigint[]) WITH ORDINALITY AS o (id, place) JOIN products t ON t.tenant_id = $1 AND t.id = o.id {_IMAGE} {_RATING}
        WHERE t.deleted_at IS NULL AND t.status = 'A' ORDER BY o.place""",
    "S4 search": _WORD_SEARCH,
    "S4 products": f"""
        SELECT {_CARD}, {_CATEGORIES} FROM unnest($2::bigint[]) WITH ORDINALITY AS o (id, place)
        JOIN products t ON t.tenant_id = $1 AND t.id = o.id WHERE t.deleted_at IS NULL AND t.status = 'A' ORDER BY o.place""",
    "S5 cart": """
        SELECT c.id, c.public_id::varchar,
            (CASE WHEN c.status = 'open' AND c.expires_at <= now() THEN 'expired' ELSE c.status END)::varchar, s.currency::varchar,
            nullif(c.coupon_code, '')::varchar, m.base_cents, m.per_kg_cents, m.per_item_cents, m.free_from_cents,
            EXISTS (SELECT FROM promotions p WHERE p.tenant_id = $1 AND p.deleted_at IS NULL AND p.status = 'A' AND p.zone = 'cart'
                AND p.coupon_key IN ('', lower(c.coupon_code)) AND (p.from_at IS NULL OR p.from_at <= now()))
            OR EXISTS (SELECT FROM shipping_rates x WHERE x.tenant_id = $1 AND x.shipping_method_id = m.id)
            OR EXISTS (SELECT FROM warehouses w WHERE w.tenant_id = $1 AND w.status = 'A' AND w.deleted_at IS NULL)
            OR EXISTS (SELECT FROM cart_items i JOIN product_taxes x ON x.tenant_id = $1 AND x.product_id = i.product_id
                WHERE i.tenant_id = $1 AND i.cart_id = c.id)
        FROM carts c JOIN tenants s ON s.id = $1 LEFT JOIN shipping_methods m ON m.tenant_id = $1 AND m.id = c.shipping_method_id
            AND m.status = 'A' AND m.deleted_at IS NULL
        WHERE c.tenant_id = $1 AND c.public_id = $2::uuid""",
    "S5 items": f"""
        SELECT {_CARD}, {_CATEGORIES}, {_IS_ON_SALE}, {_PICTURE}, n.public_id::varchar, n.quantity, n.options::varchar,
            n.added_price_cents, t.stock, t.tracking::varchar, t.min_quantity, t.max_quantity, t.weight_grams, t.free_shipping
        FROM cart_items n JOIN products t ON t.tenant_id = $1 AND t.id = n.product_id {_IMAGE}
        WHERE n.tenant_id = $1 AND n.cart_id = $2 ORDER BY n.id""",
    "S7 page": """
        SELECT p.public_id::varchar, p.name::varchar, p.type::varchar, p.description::varchar, nullif(p.page_title, '')::varchar,
            p.meta_description::varchar, p.link::varchar, u.public_id::varchar, u.name::varchar, u.slug::varchar
        FROM pages p LEFT JOIN pages u ON u.tenant_id = $1 AND u.id = p.parent_id AND u.status = 'A'
        WHERE p.tenant_id = $1 AND p.slug = $2::text::varchar AND p.status = 'A' AND p.deleted_at IS NULL""",
    "S7 pages": """
        SELECT p.public_id::varchar, p.name::varchar, p.slug::varchar, p.type::varchar, p.link::varchar, u.public_id::varchar
        FROM pages p LEFT JOIN pages u ON u.tenant_id = $1 AND u.id = p.parent_id
        WHERE p.tenant_id = $1 AND p.status = 'A' AND p.deleted_at IS NULL ORDER BY p.position, p.id LIMIT 100""",
}  # fmt: skip


@dataclass(frozen=True)
class _Promotion:
    """A percentage of the price, in thousandths, of products below any of the categories."""

    name: str
    categories: frozenset[int]
    rate: int


@lru_cache(100)
def _promotion(name: str, rule: str, gifts: str) -> _Promotion:
    [test], [gift] = orjson.loads(rule)["of"], orjson.loads(gifts)
    if (test["test"], test["op"], gift["way"], gift["products"]) != ("categories", "in", "by_percent", None):
        raise NotImplementedError(name)
    return _Promotion(name, frozenset(test["value"]), gift["value"])


async def _promotions(fetch: Fetch, store: int) -> list[_Promotion]:
    return [_promotion(*row) for row in await fetch("promotions", store)]


def _price(promotions: Iterable[_Promotion], base: int, categories: Sequence[int]) -> tuple[int, list[str]]:
    cents, names = base, []
    for promotion in promotions:
        if not promotion.categories.isdisjoint(categories):
            cents -= (cents * promotion.rate + 50_000) // 100_000
            names.append(promotion.name)
    return cents, names


def _pricing(promotions: Iterable[_Promotion], base: int, categories: Sequence[int]) -> dict[str, int]:
    cents, _ = _price(promotions, base, categories)
    return {"price_cents": cents, "base_cents": base, "discount_cents": base - cents}


def _image(url: str | None, alt: str, width: int = 0, height: int = 0) -> dict[str, Any] | None:
    """Return an image of the store, a link, which has no sizes of its own."""
    if url is None:
        return None
    return {"url": url, "srcset": None, "alt": alt, "width": width, "height": height, "blurhash": None}


def _data(**values: Any) -> bytes:
    return orjson.dumps({"data": values})


async def _product_list(fetch: Fetch, arguments: Sequence[Any]) -> bytes:
    store, variables, _ = arguments
    promotions = await _promotions(fetch, store)
    edges = []
    rows = await fetch(f"S1 {variables['sort']}", store)
    for number, id_, name, slug, cents, categories, is_available, *picture, created_at in rows[:24]:
        node = {
            "id": id_,
            "name": name,
            "slug": slug,
            "is_available": is_available,
            "main_image": _image(*picture),
            "pricing": _pricing(promotions, cents, categories),
        }
        edges.append({"cursor": f"{created_at}:{number}", "node": node})
    page_info = {"has_next_page": len(rows) > 24, "end_cursor": edges[-1]["cursor"]}
    return _data(product_connection={"edges": edges, "page_info": page_info})


def _counted(key: str, rows: Iterable[Sequence[Any]] | None) -> list[dict[str, Any]]:
    return [{key: id_, "name": name, "count": count} for id_, name, count in rows or ()]


def _facets(matched: Mapping[str, Any]) -> dict[str, Any]:
    stars = dict(matched["ratings"] or ())
    at_least = zip(range(5, 0, -1), accumulate(stars.get(rating, 0) for rating in range(5, 0, -1)), strict=True)
    features: dict[str, dict[str, Any]] = {}
    for feature_id, feature, *value in matched["features"] or ():
        facet = features.setdefault(feature_id, {"feature_id": feature_id, "name": feature, "values": []})
        facet["values"] += _counted("variant_id", [value])
    return {
        "categories": _counted("category_id", matched["categories"]),
        "vendors": _counted("vendor_id", matched["vendors"]),
        "prices": [
            {
                "from_cents": _STEPS[step - 1] if step else 0,
                "to_cents": _STEPS[step] - 1 if step < len(_STEPS) else None,
                "count": count,
            }
            for step, count in matched["prices"] or ()
        ],
        "ratings": [{"rating_from": rating, "count": count} for rating, count in at_least if count],
        "availability": [{"is_available": value, "count": count} for value, count in matched["availability"] or ()],
        "features": list(features.values()),
        "tags": [{"name": tag, "count": count} for tag, count in matched["tags"] or ()],
    }


async def _category_page(fetch: Fetch, arguments: Sequence[Any]) -> bytes:
    store, variables, _ = arguments
    promotions = await _promotions(fetch, store)
    [(id_, name, slug, description, url, alt, path, children)] = await fetch("S3 category", store, variables["id"])
    chosen = variables["filter"]
    [(text,)] = await fetch("S3 search", store, variables["id"], chosen["price_from"], chosen["is_available"])
    matched = orjson.loads(text)
    page = matched["page"] or []
    nodes = [
        {
            "id": id_,
            "name": name,
            "slug": slug,
            "is_available": is_available,
            "average_rating": average,
            "review_count": reviews,
            "main_image": _image(*picture),
            "pricing": _pricing(promotions, cents, categories),
        }
        for _, id_, name, slug, cents, categories, is_available, *picture, average, reviews in await fetch(
            "S3 products", store, [number for _, number in page[:24]]
        )
    ]
    category = {
        "id": id_,
        "name": name,
        "slug": slug,
        "description": description,
        "image": _image(url or None, alt),
        "path": orjson.loads(path),
        "children": orjson.loads(children or b"[]"),
    }
    cursor = "{}:{}".format(*page[:24][-1]) if page else None
    search = {
        "total": matched["total"],
        "edges": [{"node": node} for node in nodes],
        "page_info": {"has_next_page": len(page) > 24, "end_cursor": cursor},
        "facets": _facets(matched),
    }
    return _data(category=category, product_search=search)


async def _search(fetch: Fetch, arguments: Sequence[Any]) -> bytes:
    store, variables, _ = arguments
    promotions = await _promotions(fetch, store)
    [word] = compound_words(variables["query"])
    matched = await fetch("S4 search", store, word)
    rows = await fetch("S4 products", store, [row[2] for row in matched[:24]])
    edges = [
        {"node": {"name": name, "slug": slug, "pricing": {"price_cents": _price(promotions, cents, categories)[0]}}}
        for _, _, name, slug, cents, categories in rows
    ]
    return _data(product_search={"corrected_query": None, "total": matched[0][0] if matched else 0, "edges": edges})


async def _cart_page(fetch: Fetch, arguments: Sequence[Any]) -> bytes:
    store, variables, _ = arguments
    promotions = await _promotions(fetch, store)
    [(number, id_, status, currency, coupon, base, per_kg, per_item, free_from, has_more)] = await fetch(
        "S5 cart", store, variables["cart"]
    )
    if has_more:
        raise NotImplementedError("promotions of carts, rates, warehouses or taxes")
    items, warnings, subtotal, units, grams = [], [], 0, 0, 0
    for row in await fetch("S5 items", store, number):
        item, item_warnings, weight = _cart_item(promotions, *row)
        items.append(item)
        warnings += item_warnings
        subtotal += item["total_cents"]
        units += item["quantity"]
        grams += weight
    shipping = 0 if base is None else base + per_item * units + (per_kg * grams + 500) // 1000
    if free_from and subtotal >= free_from:
        shipping = 0
    cart = {
        "id": id_,
        "status": status,
        "currency": currency,
        "items": items,
        "warnings": warnings,
        "gifts": [],
        "coupon_code": coupon,
        "subtotal_cents": subtotal,
        "discount_cents": 0,
        "shipping_cents": shipping,
        "total_cents": subtotal + shipping,
    }
    return _data(cart=cart)


def _cart_item(
    promotions: Iterable[_Promotion],
    _number: int,
    product_id: str,
    name: str,
    slug: str,
    base: int,
    categories: Sequence[int],
    is_on_sale: bool,
    url: str | None,
    alt: str,
    width: int,
    height: int,
    id_: str,
    quantity: int,
    options: str,
    added_cents: int | None,
    stock: int,
    tracking: str,
    least: int,
    most: int,
    weight: int,
    _free: bool,
) -> tuple[dict[str, Any], list[dict[str, Any]], int]:
    cents, _ = _price(promotions, base, categories)
    item = {
        "id": id_,
        "name": name,
        "quantity": quantity,
        "price_cents": cents,
        "total_cents": quantity * cents,
        "is_available": is_on_sale,
        "options": orjson.loads(options),
        "product": {
            "id": product_id,
            "slug": slug,
            "main_image": _image(url, alt, width, height),
            "max_quantity": most,
        },
    }
    warnings = []
    about = {"item": {"id": id_}, "available_quantity": None, "previous_price_cents": None, "price_cents": None}
    if added_cents not in (None, cents):
        changed = {"previous_price_cents": added_cents, "price_cents": cents}
        warnings.append({"code": "PRICE_CHANGED", "message": f"O preço mudou: {name}.", **about, **changed})
    if tracking != "D" and quantity > stock:
        is_gone = stock < max(least, 1)
        code = "OUT_OF_STOCK" if is_gone else "LESS_AVAILABLE"
        text = "Estoque insuficiente" if is_gone else "Há menos unidades em estoque do que no carrinho"
        warnings.append({"code": code, "message": f"{text}: {name}.", **about, "available_quantity": stock})
    return item, warnings, weight * quantity


async def _content_page(fetch: Fetch, arguments: Sequence[Any]) -> bytes:
    store, variables, _ = arguments
    [(*values, parent_id, parent_name, parent_slug)] = await fetch("S7 page", store, variables["slug"])
    names = ("id", "name", "type", "description", "page_title", "meta_description", "link")
    parent = {"id": parent_id, "name": parent_name, "slug": parent_slug} if parent_id is not None else None
    columns = ("id", "name", "slug", "type", "link", "parent_id")
    pages = [dict(zip(columns, row, strict=True)) for row in await fetch("S7 pages", store)]
    return _data(page={**dict(zip(names, values, strict=True)), "parent": parent}, pages=pages)


READS: Mapping[str, Read] = {
    "S1": _product_list,
    "S3": _category_page,
    "S4": _search,
    "S5": _cart_page,
    "S7": _content_page,
}
