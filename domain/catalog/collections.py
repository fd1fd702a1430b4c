"""Collections: products that a store picks by hand and puts in order, with a page of their own."""

from __future__ import annotations

from collections.abc import Mapping

from domain import event_types, record_events
from domain.filters import created_range, exact, ids, linked_to, sorts, statuses, substring
from domain.media.images import set_image
from domain.records import Change, RecordType
from domain.visibility import published
from kernel.codes import SWITCH_STATUSES
from kernel.fields import InputField, check_count, code_in, integer, name_text, text
from kernel.product_fields import SEO_FIELDS, slug_text
from kernel.scope import Scope
from models.reading.queries import Entity
from models.references import COLLECTION, PRODUCT, find_public_ids, resolve_all
from models.tables.catalog import ProductCollection

MAX_PRODUCTS = 1_000

COLLECTIONS = Entity(
    table="collections",
    visible=published(("view_catalog", "view_products"), ("read_categories", "read_products")),
    filters={
        "id": ids("collections"),
        "status": statuses(),
        "search": substring("name", "t.name"),
        **exact("text", "name", "slug"),
        "product_id": linked_to(
            "collection_products", "collection_id", "product_id", "products", "with any of these products"
        ),
        **created_range(),
    },
    sorts=sorts("position", "name", "created_at"),
)
COLLECTION_FIELDS: Mapping[str, InputField] = {
    "name": InputField("name", name_text, code="name_invalid", required="name_required"),
    "slug": InputField("slug", slug_text, code="slug_invalid"),
    "description": InputField("description", text()),
    "status": InputField("status", code_in(SWITCH_STATUSES), code="status_invalid"),
    "position": InputField("position", integer(), code="position_invalid"),
    **SEO_FIELDS,
}


async def _prepare(change: Change) -> None:
    await set_image(change, "collections")
    products = change.values.get("products")
    if products is not None:
        check_count(products, MAX_PRODUCTS, "products", field="products")
        resolved = await resolve_all(change.scope, PRODUCT, products, field="products")
        change.parts["products"] = list(dict.fromkeys(resolved[reference] for reference in products))


async def _write_products(change: Change) -> None:
    if "products" in change.parts:
        rows = [
            {"product_id": product, "position": position} for position, product in enumerate(change.parts["products"])
        ]
        await change.replace_part("collection_products", "collection_id", rows, key="product_id")


async def _emit(change: Change) -> None:
    name = event_types.COLLECTION_CREATED if change.is_new else event_types.COLLECTION_UPDATED
    await record_events.emit_records(change.scope, name, [change.record_id])


async def _emit_deleted(scope: Scope, collection_id: int) -> None:
    public_ids = await find_public_ids(scope, COLLECTION, [collection_id])
    await record_events.emit_deleted(scope, event_types.COLLECTION_DELETED, public_ids.values())


COLLECTION_RECORDS = RecordType(
    ProductCollection,
    COLLECTION_FIELDS,
    audit_input=True,
    prepare=_prepare,
    after_save=_write_products,
    emit=_emit,
    before_delete=_emit_deleted,
)
