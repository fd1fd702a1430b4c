"""The products of a file: prices, stock, categories by their path, images (docs/reference/bulk.md#products)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from domain.catalog.categories import CATEGORY_RECORDS
from domain.catalog.products import BulkErrorPolicy, bulk_upsert_products
from kernel.errors import ValidationFailed
from kernel.fields import MAX_NAME, FieldReader, WholeNumber, name_text, optional_timestamp
from kernel.fields import flag as read_flag
from kernel.product_fields import PRODUCT_FIELDS
from kernel.scope import Scope
from kernel.text import InvalidValue, repr_value
from models.connection.database import fetch
from server.importers.file_rows import Column, FileRow, RecordFormat
from server.importers.file_values import flag, list_of, money, reference, texts, time, whole
from server.importers.record_files import BatchOutcome, FileKind, ImportOptions

_PATH_SEPARATOR = ">"
_CATEGORIES = "SELECT id, parent_id, name FROM categories WHERE tenant_id = $1 AND deleted_at IS NULL ORDER BY id"


def _images(text: str) -> list[dict[str, str]]:
    return [{"url": url} for url in texts(text)]


def _column(name: str, read: FieldReader) -> Column:
    """Return the column of a field, whose text in CSV is parsed into what the field's reader takes."""
    if read is optional_timestamp:
        return Column(name, time, time)
    if read is read_flag:
        return Column(name, flag)
    return Column(name, whole if isinstance(read, WholeNumber) else str)


async def _write(scope: Scope, batch: Sequence[FileRow], options: ImportOptions) -> BatchOutcome:
    """Write products, which `bulk_upsert_products` matches by `id`, else by `sku`."""
    categories = await _Categories.load(scope)
    outcome = BatchOutcome(others={"categories": categories.new})
    rows, values = [], []
    for row in batch:
        try:
            values.append(await _resolved(scope, row, categories))
            rows.append(row)
        except InvalidValue as error:
            outcome.refused.append([row.error("categories", str(error))])
    for row, result in zip(rows, await bulk_upsert_products(scope, values, BulkErrorPolicy.REJECT_FAILED), strict=True):
        if result.error is not None:
            # Under the names that the file has for the fields: `price` for `price_cents`.
            names = (name.partition(".")[0] for name in result.error.fields)
            columns = dict.fromkeys(row.columns.get(name, name) for name in names)
            outcome.refused.append([row.error(", ".join(columns), result.error.message)])
        elif result.created:
            outcome.created += 1
        elif result.changed:
            outcome.updated += 1
        else:
            outcome.unchanged += 1
    return outcome


async def _resolved(scope: Scope, row: FileRow, categories: _Categories) -> dict[str, Any]:
    if row.values.get("categories") is None:
        return row.values
    return {**row.values, "categories": [await categories.find(scope, path) for path in row.values["categories"]]}


class _Categories:
    """The categories of the store by parent and name, without case; those missing in a path are created."""

    def __init__(self, ids: dict[tuple[int | None, str], int]) -> None:
        self._ids = ids
        self.new: set[tuple[str, ...]] = set()

    @classmethod
    async def load(cls, scope: Scope) -> _Categories:
        """Load the store's categories; of several with one name below one parent the oldest counts."""
        ids: dict[tuple[int | None, str], int] = {}
        for row in await fetch(_CATEGORIES, scope.store.id):
            ids.setdefault((row["parent_id"], row["name"].strip().lower()), row["id"])
        return cls(ids)

    async def find(self, scope: Scope, path: str) -> int:
        """Return the id of the category with a path; raise `InvalidValue` for a name or a depth that no category can have."""
        try:
            names = [str(name_text(name)) for name in path.split(_PATH_SEPARATOR)]
        except InvalidValue as error:
            raise InvalidValue(
                f"has {repr_value(path)}; expected names of 1 to {MAX_NAME} characters with > between them"
            ) from error
        parent: int | None = None
        for depth, name in enumerate(names, 1):
            key = (parent, name.lower())
            if key not in self._ids:
                try:
                    self._ids[key] = await CATEGORY_RECORDS.create(scope, {"name": name, "parent": parent})
                except ValidationFailed as error:
                    raise InvalidValue(f"has {repr_value(path)}: {error.message}") from error
                self.new.add(tuple(each.lower() for each in names[:depth]))
            parent = self._ids[key]
        assert parent is not None
        return parent


PRODUCTS = FileKind(
    "products",
    RecordFormat(
        {
            "id": Column("id", read=reference),
            "vendor_id": Column("vendor", read=reference),
            **{name: _column(name, each.read) for name, each in PRODUCT_FIELDS.items()},
            "price": Column("price_cents", money, money),
            "compare_at": Column("compare_at_cents", money, money),
            "shipping_freight": Column("shipping_freight_cents", money, money),
            "categories": Column("categories", texts, list_of(str, "paths such as Casa > Cozinha")),
            "images": Column("images", _images, list_of(dict, "objects with a url")),
        }
    ),
    _write,
)
