"""Convert the tags of products, which an add-on of CS-Cart has."""

from __future__ import annotations

from domain.catalog.tags import MAX_TAGS, read_tags
from domain.imports.numbered import ImportTable, Row
from kernel.fields import FieldErrors
from models.tables.catalog import ProductTag
from server.importers.cscart.context import Context
from server.importers.cscart.values import Record, items, text

# Of a shop without the add-on, which has no tags to say, those that were set here stay.
TAGS = ImportTable(
    ProductTag,
    owner="product_id",
    keeps=True,
    before_update="DELETE FROM product_tags WHERE tenant_id = $1 AND product_id = ANY($2::bigint[])",
)


def tag_rows(context: Context, product: int, record: Record) -> list[Row]:
    """Return the active tags of a product: texts, one text with commas, or records `{tag, status}`."""
    value = record.get("tags")
    named = [_name(each) for each in (value.split(",") if isinstance(value, str) else items(value))]
    errors: FieldErrors = {}
    tags = read_tags([name for name in named if name.strip()], errors)
    for _, message in errors.values():
        context.note(f"{message}; left out")
    if len(tags) > MAX_TAGS:
        context.note(f"of {len(tags)} tags the first {MAX_TAGS} were brought")
    return [{"product_id": product, "tag": tag} for tag in tags[:MAX_TAGS]]


def _name(tag: object) -> str:
    if isinstance(tag, dict):
        return text(tag, "tag") if text(tag, "status", "A") == "A" else ""
    return tag if isinstance(tag, str) else ""
