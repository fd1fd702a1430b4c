"""Workloads and what their requests are built from."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from bench.database import API_KEY, Size

# The number of different records requested: more than the caches of compiled operations store.
_RECORDS = 5_000


@dataclass
class RequestData:
    """Ids and access tokens for the requests; `limit_…` are for the hand-written handlers.

    `customers` are the headers of signed-in customers; `tag_of` returns the entity tag of Vitrine's answer to a GET of a path.
    """

    size: Size
    store: int = 1
    token: str = ""
    limit_token: str = ""
    limit_style: str = ""
    storefront_key: str = ""
    customers: list[dict[str, str]] = field(default_factory=list)
    limit_customers: list[dict[str, str]] = field(default_factory=list)
    tag_of: Callable[[str], str] = field(default=lambda path: "")

    @property
    def store_id(self) -> str:
        return public_id("store", self.store)

    def product(self, number: int) -> str:
        return public_id("product", self.store, number)

    def order(self, number: int) -> str:
        return public_id("order", self.store, number)

    def spread(self, count: int) -> list[int]:
        """Return different record numbers up to `count`, spread over the table."""
        return [number * 7919 % count + 1 for number in range(min(_RECORDS, count))]

    @property
    def bearer(self) -> dict[str, str]:
        return {"X-Tenant-ID": self.store_id, "Authorization": f"Bearer {self.token}"}

    @property
    def limit_bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.limit_token}"}

    @property
    def storefront(self) -> dict[str, str]:
        return {"X-Tenant-ID": self.store_id, **self.limit_storefront}

    @property
    def limit_storefront(self) -> dict[str, str]:
        return {"X-API-Key": self.storefront_key}

    @property
    def basic(self) -> dict[str, str]:
        pair = base64.b64encode(f"user1@example.com:{API_KEY}".encode()).decode()
        return {"X-Tenant-ID": self.store_id, "Authorization": f"Basic {pair}"}


Requests = Callable[[RequestData], Sequence[bytes]]
Normalize = Callable[[Any], Any]


@dataclass(frozen=True)
class Workload:
    """A workload, with requests for the contestants that support it; `normalize` returns what must be equal in all responses.

    The requests of one that writes are sent once each, in order, as long as the list lasts.
    """

    name: str
    title: str
    requests_by_contestant: Mapping[str, Requests]
    normalize: Normalize = field(default=lambda response: response)
    writes: bool = False
    connections: int = 8


def public_id(*words: object) -> str:
    """Return the UUID of a record created by `sql/fill.sql`."""
    return str(UUID(hashlib.md5(" ".join(map(str, words)).encode(), usedforsecurity=False).hexdigest()))


def http(method: str, path: str, headers: Mapping[str, str], body: Any = None) -> bytes:
    """Return the bytes of an HTTP request."""
    content = b"" if body is None else json.dumps(body, separators=(",", ":")).encode()
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", "Accept: application/json", "User-Agent: bench"]
    lines.append("Accept-Encoding: identity")  # the hand-written handlers don't compress
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(content)}"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + content
