"""What the generated operations of the REST families are made of: typed requests, and lists read page by page."""

from __future__ import annotations

import re
import uuid
from collections.abc import AsyncIterator, Mapping
from typing import Any, ClassVar
from urllib.parse import quote

from vitrine_client.transport import Request, Transport

_NEXT = re.compile(r'<[^>]*>\s*;[^,]*\brel="?next"?')
# Members of a list besides its records, which come first.
_COUNTS = {"params", "search", "total"}


class Operations:
    """The operations of a family."""

    largest_page: ClassVar[int] = 100

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def _request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        idempotency_key: str | None = None,
    ) -> Any:
        sent = await self._transport.send(
            Request(method, path, query=query or {}, json=body, idempotency_key=idempotency_key)
        )
        return sent.body

    def _part(self, value: str) -> str:
        """Return a path parameter as the path contains it."""
        return quote(str(value), safe="")

    async def _records(self, path: str, query: Mapping[str, Any], size_name: str) -> AsyncIterator[Any]:
        """Yield the records of a list. What is inserted or deleted meanwhile moves records from page to page."""
        query = {**query, size_name: query.get(size_name) or self.largest_page}
        page = 1
        while True:
            sent = await self._transport.send(Request("GET", path, query={**query, "page": page}))
            records = _collection(sent.body)
            for record in records:
                yield record
            if not records or not _has_next(sent.headers.get("Link", ""), sent.body, len(records) >= query[size_name]):
                return
            page += 1


def new_idempotency_key() -> str:
    """Return a key for one write and its repetitions."""
    return str(uuid.uuid4())


def _collection(body: Any) -> list[Any]:
    """Return the records of a page; the legacy API keys some by their ids, and sends some bare."""
    if isinstance(body, dict) and body.keys() & _COUNTS:
        body = next(iter(body.values()))
    return list(body.values()) if isinstance(body, dict) else list(body)


def _has_next(link: str, body: Any, is_full: bool) -> bool:
    if not isinstance(body, dict) or not body.keys() & _COUNTS:
        return is_full
    counts = body.get("params") or body.get("search") or {}
    if "total_items" in counts:
        return bool(counts["page"] * counts["items_per_page"] < counts["total_items"])
    return _NEXT.search(link) is not None
