"""The third style of the hand-written reads: narrow statements, one per level, whose rows become bytes in Python.

It spares PostgreSQL the JSON and wins where the server's core has time left. Texts are cast to varchar, because the limit's connections
return text as bytes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from bench.contestants import limit_rows

Fetch = Callable[..., Awaitable[Sequence[Any]]]
Read = Callable[[Fetch, Sequence[Any]], Awaitable[bytes]]

_PRODUCT = "t.id, t.public_id::varchar, t.name::varchar, t.price_cents, c.public_id::varchar, c.name::varchar"
_PRODUCTS = "FROM products t LEFT JOIN categories c ON c.tenant_id = $1 AND c.id = t.category_id WHERE t.tenant_id = $1"
_IMAGES_OF_ONE = """
    ARRAY(SELECT i.url::varchar FROM product_images i WHERE i.tenant_id = $1 AND i.product_id = t.id ORDER BY i.position, i.id),
    ARRAY(SELECT i.alt::varchar FROM product_images i WHERE i.tenant_id = $1 AND i.product_id = t.id ORDER BY i.position, i.id)
"""
_IMAGES = """
SELECT product_id, url::varchar, alt::varchar FROM product_images WHERE tenant_id = $1 AND product_id = ANY($2::bigint[])
ORDER BY product_id, position, id
"""
_ORDER = "t.id, t.public_id::varchar, t.status::varchar, t.total_cents"
_LINES_OF_ONE = ", ".join(
    f"ARRAY(SELECT l.{column} FROM order_lines l WHERE l.tenant_id = $1 AND l.order_id = t.id ORDER BY l.position)"
    for column in ("product_name::varchar", "quantity", "price_cents")
)
_LINES = """
SELECT order_id, product_name::varchar, quantity, price_cents FROM order_lines WHERE tenant_id = $1 AND order_id = ANY($2::bigint[])
ORDER BY order_id, position
"""
_NEWEST = "AND t.deleted_at IS NULL ORDER BY t.created_at DESC, t.id DESC LIMIT"

STATEMENTS: Mapping[str, str] = {
    "Q1": f"SELECT {_PRODUCT} {_PRODUCTS} {_NEWEST} 50",
    "Q2": f"SELECT {_PRODUCT} {_PRODUCTS} {_NEWEST} 10",
    "Q3": f"SELECT {_PRODUCT}, {_IMAGES_OF_ONE} {_PRODUCTS} AND t.deleted_at IS NULL AND t.public_id = $2::uuid",
    "Q4": f"""
        SELECT {_ORDER}, u.public_id::varchar, btrim(t.firstname || ' ' || t.lastname)::varchar, t.email::varchar, {_LINES_OF_ONE}
        FROM orders t LEFT JOIN users u ON u.tenant_id = $1 AND u.id = t.user_id
        WHERE t.tenant_id = $1 AND t.deleted_at IS NULL AND t.public_id = $2::uuid
    """,
    "Q5": f"SELECT {_ORDER} FROM orders t WHERE t.tenant_id = $1 {_NEWEST} 50",
    "L1": limit_rows.PRODUCTS,
    "L1 images": limit_rows.IMAGES,
    "L1 features": limit_rows.FEATURES,
    "images": _IMAGES,
    "lines": _LINES,
}


@dataclass(frozen=True)
class _Relation:
    """The second level of a list: its statement, its key in the record, and the keys of its columns."""

    statement: str
    key: str
    columns: tuple[str, ...]


_IMAGES_OF = _Relation("images", "images", ("url", "alt"))
_LINES_OF = _Relation("lines", "items", ("name", "quantity", "price_cents"))


def _product(_: int, public_id: str, name: str, cents: int, category: str | None, category_name: str) -> dict[str, Any]:
    return {
        "id": public_id,
        "name": name,
        "price_cents": cents,
        "category": {"id": category, "name": category_name} if category is not None else None,
    }


def _order(number: int, public_id: str, status: str, total: int) -> dict[str, Any]:
    return {"id": public_id, "number": number, "status": status, "total_cents": total}


def _list(item: str, key: str, record: Callable[..., dict[str, Any]], relation: _Relation) -> Read:
    async def read(fetch: Fetch, arguments: Sequence[Any]) -> bytes:
        rows = await fetch(item, *arguments)
        children: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
        for parent, *values in await fetch(relation.statement, arguments[0], [row[0] for row in rows]):
            children[parent].append(dict(zip(relation.columns, values, strict=True)))
        records = [{**record(*row), relation.key: children[row[0]]} for row in rows]
        return orjson.dumps({"data": {key: records}})

    return read


async def _one_product(fetch: Fetch, arguments: Sequence[Any]) -> bytes:
    rows = await fetch("Q3", *arguments)
    if not rows:
        return b'{"data":{"product":null}}'
    *values, urls, alts = rows[0]
    images = [{"url": url, "alt": alt} for url, alt in zip(urls, alts, strict=True)]
    return orjson.dumps({"data": {"product": {**_product(*values), "images": images}}})


async def _one_order(fetch: Fetch, arguments: Sequence[Any]) -> bytes:
    rows = await fetch("Q4", *arguments)
    if not rows:
        return b'{"data":{"order":null}}'
    *values, customer, name, email, names, quantities, prices = rows[0]
    items = [
        {"name": product, "quantity": quantity, "price_cents": cents}
        for product, quantity, cents in zip(names, quantities, prices, strict=True)
    ]
    order = {**_order(*values), "customer": {"id": customer, "name": name, "email": email}, "items": items}
    return orjson.dumps({"data": {"order": order}})


READS: Mapping[str, Read] = {
    "Q1": _list("Q1", "products", _product, _IMAGES_OF),
    "Q2": _list("Q2", "products", _product, _IMAGES_OF),
    "Q3": _one_product,
    "Q4": _one_order,
    "Q5": _list("Q5", "orders", _order, _LINES_OF),
    "L1": limit_rows.legacy_products,
}
