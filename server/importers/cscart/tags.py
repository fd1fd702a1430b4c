"""Convert the tags of products, which an add-on of CS-Cart has."""

from __future__ import annotations

from domain.catalog.tags import MAX_TAGS, read_tags
from domain.imports.numbered import ImportTable, Rows
from kernel.fields import FieldErrors
from models.tables.catalog import ProductTag
from server.importers.cscart.context import Context
from server.importers.cscart.values import Record, items, text

TAGS = ImportTable(ProductTag, owner="product_id")


def tag_rows(context: Context, product: int, record: Record) -> Rows:
    """Return the active tags of a product: texts, one text with commas, or records `{tag, status}`.

    Of a shop without the add-on, whose products don't have the member, those that were set here stay.
    """
    value = record.get("tags")
    if value is None:
        return {}
    named = [_name(each) for each in (value.split(",") if isinstance(value, str) else items(value))]
    errors: FieldErrors = {}
    tags = read_tags([name for name in named if name.strip()], errors)
    for _, message in errors.values():
        context.note(f"{message}; left out")
    if len(tags) > MAX_TAGS:
        context.note(f"of {len(tags)} tags the first {MAX_TAGS} were brought")
    return {TAGS.name: [{"product_id": product, "tag": tag} for tag in tags[:MAX_TAGS]]}


def _name(tag: object) -> str:
    if isinstance(tag, dict):
        return text(tag, "tag") if text(tag, "status", "A") == "A" else ""
    return tag if isinstance(tag, str) else ""
