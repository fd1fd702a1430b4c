"""Read the lists of a source, page by page, and complete their rows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from kernel.text import repr_value
from server.importers.cscart.entities import ShopEntity
from server.importers.cscart.promotion_references import name_by_number
from server.importers.cscart.report import Report
from server.importers.cscart.source import NotOffered, Source, SourceError
from server.importers.cscart.values import OFFERED_BY, NotBrought, Record, as_number, entries, items, objects, text

PAGE_SIZE = 250
_NOT_ROWS = ("params", "search")
_NO_ROWS = (None, "", False)
# A list is read again when records were missing: those that were deleted meanwhile moved others to an earlier page.
_MAX_PASSES = 2

T = TypeVar("T")


@dataclass
class Reader:
    """Reads the entities of a source.

    `products` are the numbers of its products, and whether they have options: None for those that don't say.
    """

    source: Source
    report: Report
    expect: Callable[[int], None] = lambda _total: None
    products: dict[int, bool | None] = field(default_factory=dict)
    with_options: set[int] = field(default_factory=set)
    _paths: dict[str, str] = field(default_factory=dict)
    _exception_types: dict[int, str] = field(default_factory=dict)
    _by_product: bool | None = None

    async def pages(self, entity: ShopEntity) -> AsyncIterator[list[Record]]:
        """Yield the rows of the entity's list, each once; parents before the records below them."""
        is_by_product = entity.by_product and await self._is_by_product()
        pages = self._products_pages(entity) if is_by_product else self._list(entity)
        if entity.name == "options" and not is_by_product:
            pages = self._with_products(entity, pages)
        if entity.parent:
            rows = [row async for page in pages for row in page]
            rows = parents_first(rows, entity.key, entity.parent)
            for start in range(0, len(rows), PAGE_SIZE):
                yield rows[start : start + PAGE_SIZE]
            return
        async for page in pages:
            if entity.name == "products":
                self.products |= {number: _has_options(row) for row in page if (number := _number(row, entity.key))}
            yield page

    async def complete(self, entity: ShopEntity, row: Record) -> Record:
        """Return the whole record of a row; raises SourceError."""
        record = row
        if entity.complete_field not in row and not entity.by_product:
            path = self._paths.get(entity.name, entity.name)
            number = _number(row, entity.key)
            record = await self.source.fetch(f"{path}/{number}")
            if not isinstance(record, dict):
                raise SourceError("the answer is no record")
            if _number(record, entity.key) not in (None, number):
                raise SourceError(f"the answer is the record {_number(record, entity.key)}")
            record = {**row, **record, entity.key: row.get(entity.key)}
        if entity.name == "users" and "usergroups" not in record and self.report.counts["usergroups"].read:
            record = {**record, "usergroups": await self._memberships(_number(row, entity.key))}
        if entity.name == "promotions":
            record = await name_by_number(self.source, record)
        if entity.name == "exceptions" and "type" not in record:
            record = {**record, "type": await self._exception_type(_number(row, "product_id"))}
        return record

    # --- Lists ---

    async def _list(self, entity: ShopEntity) -> AsyncIterator[list[Record]]:
        missing: NotOffered | None = None
        for path in entity.lists:
            self._paths[entity.name] = path
            try:
                async for page in self._whole_list(entity, path):
                    yield page
            except NotOffered as error:
                missing = error
                continue
            except SourceError as error:
                self.report.fail(entity.name, "", f"the list can't be read to its end: {error}")
            return
        self.report.missing[entity.name] = str(missing)

    async def _whole_list(self, entity: ShopEntity, path: str) -> AsyncIterator[list[Record]]:
        seen: set[str] = set()
        expected = 0
        for _ in range(_MAX_PASSES):
            async for rows, total in self._pages(entity, path):
                expected = total or 0
                known = len(seen)
                new = self._unseen(entity, rows, seen)
                if new:
                    yield new
                # A list without pages answers all of its rows to every page, perhaps in another order.
                if total is None and len(seen) == known:
                    break
            if len(seen) >= expected:
                return
        self.report.note(
            entity.name, "list", f"it has {expected} records by its own count, of which {len(seen)} were read"
        )

    async def _pages(self, entity: ShopEntity, path: str) -> AsyncIterator[tuple[list[Record], int | None]]:
        """Yield the pages of a list with its total."""
        query = {"sort_by": entity.sort_by, "sort_order": "asc"} if entity.sort_by else {}
        page, read, before = 1, 0, None
        while True:
            try:
                body = await self.source.fetch(path, page=page, items_per_page=PAGE_SIZE, **query)
            except NotOffered:
                if page == 1:
                    raise
                return
            rows, total = rows_of(body, path)
            if page == 1:
                self.expect(total or len(rows))
            yield rows, total
            # One without a total ends with an empty page.
            read += len(rows)
            if not rows or rows == before or (total is not None and read >= total):
                return
            page, before = page + 1, rows

    def _unseen(self, entity: ShopEntity, rows: Iterable[Any], seen: set[str]) -> list[Record]:
        new = []
        for row in rows:
            reason = ""
            try:
                external_id = entity.external_id(row) if isinstance(row, dict) else ""
            except NotBrought as error:
                external_id, reason = str(row.get(entity.key, "?")), str(error)
            if not external_id:
                external_id, reason = "?", f"{repr_value(row)} is no record"
            if external_id in seen:
                continue
            seen.add(external_id)
            if reason:
                self.report.fail(entity.name, external_id, reason)
            else:
                new.append(row)
        return new

    # --- What CS-Cart lists by product ---

    async def _is_by_product(self) -> bool:
        """Return whether combinations can only be listed by product; options are then incomplete without one."""
        if self._by_product is None:
            try:
                await self.source.fetch("combinations", items_per_page=1)
                self._by_product = False
            except SourceError:
                self._by_product = True
        return self._by_product

    async def _products_pages(self, entity: ShopEntity) -> AsyncIterator[list[Record]]:
        """Yield the records of one product after the other; shared options last, with all products that offer them."""
        shared: dict[int, dict[str, Any]] = {}
        seen: set[str] = set()
        candidates = sorted(self.products if entity.name == "options" else self.with_options)
        if entity.name == "options":
            candidates = [number for number in candidates if self.products[number] is not False]
        self.expect(len(candidates))
        for start in range(0, len(candidates), PAGE_SIZE):
            chunk = candidates[start : start + PAGE_SIZE]
            lists = await together([self._of_product(entity, product) for product in chunk])
            page: list[Record] = []
            for product, rows in zip(chunk, lists, strict=True):
                if entity.name == "options" and rows:
                    self.with_options.add(product)
                for row in rows:
                    number = _number(row, entity.key)
                    if entity.name == "options" and number and not _number(row, "product_id"):
                        shared.setdefault(number, {**row, OFFERED_BY: []})[OFFERED_BY].append(product)
                    else:
                        page.append({**row, "product_id": row.get("product_id") or str(product)})
            yield self._unseen(entity, page, seen)
        if shared:
            yield list(shared.values())

    async def _with_products(
        self, entity: ShopEntity, pages: AsyncIterator[list[Record]]
    ) -> AsyncIterator[list[Record]]:
        """Yield the options of one product, then the shared ones with the products that offer them, as far as products say that they do."""
        shared: list[Record] = []
        async for page in pages:
            shared += [row for row in page if not _number(row, "product_id")]
            yield [row for row in page if _number(row, "product_id")]
        offering: dict[int | None, list[int]] = {}
        products = sorted(number for number, has_options in self.products.items() if has_options) if shared else []
        for start in range(0, len(products), PAGE_SIZE):
            chunk = products[start : start + PAGE_SIZE]
            lists = await together([self._of_product(entity, product) for product in chunk])
            for product, rows in zip(chunk, lists, strict=True):
                for row in rows:
                    offering.setdefault(_number(row, entity.key), []).append(product)
        yield [{**row, OFFERED_BY: offering.get(_number(row, entity.key), [])} for row in shared]

    async def _of_product(self, entity: ShopEntity, product: int) -> list[Record]:
        try:
            rows, _ = rows_of(await self.source.fetch(entity.name, product_id=product), entity.name)
        except NotOffered:
            return []
        except SourceError as error:
            self.report.fail(entity.name, f"of product {product}", str(error))
            return []
        for row in rows:
            if not isinstance(row, dict):
                self.report.fail(entity.name, f"of product {product}", f"{repr_value(row)} is no record")
        return objects(rows)

    async def _exception_type(self, product: int | None) -> str:
        """Return the type of a product's exceptions, which CS-Cart has with the product."""
        if product is not None and product not in self._exception_types:
            record = await self.source.fetch(f"products/{product}")
            self._exception_types[product] = text(record, "exceptions_type") if isinstance(record, dict) else ""
        return self._exception_types.get(product or 0, "")

    async def _memberships(self, user: int | None) -> list[Record]:
        try:
            return rows_of(await self.source.fetch(f"users/{user}/usergroups"), "usergroups")[0]
        except NotOffered:
            return []


async def together(work: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Return the results of concurrent work, in order; the first error cancels the rest."""
    tasks = [asyncio.ensure_future(coroutine) for coroutine in work]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


def rows_of(body: Any, path: str) -> tuple[list[Any], int | None]:
    """Return the rows of a list, and its total if that is known; raises SourceError for what is no list.

    A list is `{products: […], params}`, with rows in an array or keyed by id, or the bare rows.
    """
    params = entries(body.get("params")) if isinstance(body, dict) else {}
    rows: Any = body
    if isinstance(body, dict):
        named = [value for name, value in body.items() if name not in _NOT_ROWS]
        is_envelope = path in body or "params" in body
        rows = body[path] if path in body else next(iter(named), []) if is_envelope else body
    is_list = isinstance(rows, list | dict) or rows in _NO_ROWS
    if not is_list or (isinstance(rows, dict) and rows and not objects(rows)):
        raise SourceError(f"the answer is no list: {repr_value(rows)}")
    return items(rows), _number(params, "total_items")


def parents_first(rows: Sequence[Record], key: str, parent: str) -> list[Record]:
    """Return the rows so that each stands after its parent, if that is among them; those in a circle last."""
    children: dict[int | None, list[Record]] = {}
    numbers = {_number(row, key) for row in rows}
    for row in rows:
        above = _number(row, parent)
        children.setdefault(above if above in numbers else None, []).append(row)
    ordered: list[Record] = []
    waiting = list(reversed(children.pop(None, [])))
    while waiting:
        row = waiting.pop()
        ordered.append(row)
        waiting += reversed(children.pop(_number(row, key), []))
    return [*ordered, *(row for rest in children.values() for row in rest)]


def _number(row: Record, name: str) -> int | None:
    try:
        return as_number(row.get(name))
    except NotBrought:
        return None


def _has_options(product: Record) -> bool | None:
    return None if "has_options" not in product else product["has_options"] not in (False, "", "N", "0", 0)
