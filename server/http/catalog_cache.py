"""Answer repeated reads of the catalogue from memory, and those of a client that has the answer with 304.

For storefront keys without a shopper (docs/reference/shared.md#catalogue-caching). An answer belongs to a version of the store's catalogue
(`models.connection.catalog_versions`), the key's scopes and the request; it is found only while that version is current. Those of an
earlier version are dropped with the first answer of a later one, so that they take no memory from the answers of other stores.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Collection, Hashable
from dataclasses import dataclass, field
from importlib import metadata
from time import monotonic
from typing import TypeAlias

from aiohttp import hdrs, web

from domain.media.addresses import media_addresses
from domain.store_settings import setting
from kernel import metrics
from kernel.cache import BoundedCache
from kernel.scope import ActorKind, Scope, Store
from models.connection.catalog_versions import CatalogueVersions, is_ahead_of_request, process_versions
from rest_facade.responses import BytesResponse, add_vary

CATALOGUE_CACHE: web.AppKey[CatalogueCache] = web.AppKey("catalogue_cache")
REQUEST_CACHE: web.AppKey[RequestCache] = web.AppKey("request_cache")

# Besides the body: the key, the headers, and what compression adds for each coding.
_ENTRY_BYTES = 2_000
_MAX_SHARE = 8  # of the cache, for one answer
_MAX_STORES = 10_000
_REVALIDATED = (hdrs.METH_GET, hdrs.METH_HEAD)
# A 304 replaces the headers that a cache keeps with the body, which may be compressed (RFC 9111, section 3.2): they are the same with both.
_VARY = (hdrs.AUTHORIZATION, "X-API-Key", "X-Tenant-ID", hdrs.ACCEPT_ENCODING)
_GRAPHQL_VARY = (*_VARY, hdrs.ACCEPT)  # /graphql has a media type of its own for clients that accept it
Key: TypeAlias = tuple[int, str, frozenset[str], bool, Hashable]
"""Of an answer: store, version of its catalogue, scopes of the key and whether it is a server's, and what the request asks for."""
_VERSION = metadata.version("vitrine")
_MAX_REQUESTS, _MAX_REQUEST_BYTES = 2_000, 4_000
_REQUEST_SECONDS = 600.0
"""How long an entry lasts: a persisted document counts as used when it is looked up."""
_USES = metrics.counter("vitrine_cache_requests_total", "Cache lookups, by result.", "cache", "result")


@dataclass(slots=True, eq=False)
class Answer:
    """A response to repeat, with its tag and its body in each content coding that a client asked for."""

    key: Key
    body: bytes
    status: int
    content_type: str
    headers: dict[str, str]
    store: Store
    tag: str
    encodings: dict[str, bytes] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Return about how much memory it takes, in bytes."""
        return 2 * len(self.body) + _ENTRY_BYTES


class CatalogueCache:
    """Answers to reads of the catalogue, the most recently used ones up to `max_bytes`; with 0 bytes only 304 is answered."""

    def __init__(self, max_bytes: int, versions: CatalogueVersions | None = None) -> None:
        self._max_bytes = max_bytes
        self._versions = versions or process_versions()
        self._answers: BoundedCache[Key, Answer] = BoundedCache(
            max_weight=max_bytes, weigh=lambda answer: answer.size, on_drop=self._drop_key
        )
        self._keys: dict[int, tuple[str, set[Key]]] = {}
        """Of the answers of each store, which are of one version."""
        self._stores: BoundedCache[int, tuple[Store, str]] = BoundedCache(_MAX_STORES)
        self._program = f"{_VERSION} {media_addresses()}"

    async def respond(
        self,
        request: web.Request,
        scope: Scope,
        identity: Hashable,
        produce: Callable[[], Awaitable[web.StreamResponse]],
    ) -> web.StreamResponse:
        """Return the cached answer, or produce it; 304 to a client that has it. `identity` names what the request asks for.

        A response that `produce` marks with `Cache-Control` is neither cached nor marked; an error is not cached.
        """
        version = await self._versions.current(scope)
        key = _key(scope, version, identity)
        known = _known_tags(request)
        answer = self._find(key, scope.store)
        if answer is not None:
            return _cached_response(request, answer, scope, known)
        tag = self._tag(scope, version, identity)
        if tag in known:
            _USES.add("catalogue", "revalidated")
            return _marked(_not_modified(), scope, tag)
        _USES.add("catalogue", "missed")
        response = await produce()
        is_marked = hdrs.CACHE_CONTROL in response.headers
        if response.status != 200 or is_marked or not isinstance(response, web.Response):
            return response
        if is_ahead_of_request(version, scope):
            return response
        if isinstance(response, BytesResponse) and isinstance(response.body, bytes):
            headers = dict(response.headers)
            answer = Answer(key, response.body, response.status, response.content_type, headers, scope.store, tag)
            response.encodings = answer.encodings
            self._keep(answer)
        return _marked(_not_modified() if "*" in known else response, scope, tag)

    async def find(self, request: web.Request, scope: Scope, identity: Hashable) -> web.StreamResponse | None:
        """Return the cached answer, or its 304; None without one."""
        key = _key(scope, await self._versions.current(scope), identity)
        answer = self._find(key, scope.store)
        return None if answer is None else _cached_response(request, answer, scope, _known_tags(request))

    def _tag(self, scope: Scope, version: str, identity: Hashable) -> str:
        """Return the tag, which only a successful answer to the same request had: with it, no error is missed by a 304."""
        known = self._stores.find(scope.store.id)
        if known is None or known[0] is not scope.store:
            known = (scope.store, f"{self._program} {scope.store!r}")
            self._stores.keep(scope.store.id, known)
        parts = (known[1], version, *sorted(scope.actor.scopes), str(scope.actor.server_side), repr(identity))
        return hashlib.blake2b("\n".join(parts).encode(), digest_size=12).hexdigest()

    def _find(self, key: Key, store: Store) -> Answer | None:
        answer = self._answers.find(key)
        # Name, currency and settings of the store are no rows of the catalogue.
        return answer if answer is not None and (answer.store is store or answer.store == store) else None

    def _keep(self, answer: Answer) -> None:
        store, version, *_ = answer.key
        if answer.size * _MAX_SHARE > self._max_bytes or self._versions.find(store) not in (version, None):
            return
        cached_version, keys = self._keys.get(store, ("", set()))
        for key in list(keys if cached_version != version else ()):
            self._answers.drop(key)
        self._answers.keep(answer.key, answer)
        self._keys.setdefault(store, (version, set()))[1].add(answer.key)

    def _drop_key(self, key: Key, _: Answer) -> None:
        keys = self._keys[key[0]][1]
        keys.remove(key)
        if not keys:
            del self._keys[key[0]]

    def __len__(self) -> int:
        return len(self._answers)

    @property
    def bytes(self) -> int:
        """The size of the answers in memory."""
        return self._answers.weight


def is_cacheable(scope: Scope) -> bool:
    """Return whether answers to the caller may be cached: those to a storefront key without a shopper."""
    return scope.actor.kind is ActorKind.STOREFRONT and scope.actor.user_id is None


class RequestCache:
    """What requests for the catalogue ask for, by their bytes: one that is sent again needn't be parsed to find its answer."""

    def __init__(self) -> None:
        self._identities: BoundedCache[Hashable, tuple[float, Hashable]] = BoundedCache(_MAX_REQUESTS)

    def find(self, scope: Scope, content: str | bytes, form: Hashable) -> Hashable | None:
        """Return what a request asks for, None if it isn't known; `form` is all that its answer depends on besides the content."""
        known = self._identities.find((scope.store.id, form, content))
        return known[1] if known is not None and monotonic() < known[0] else None

    def add(self, scope: Scope, content: str | bytes, form: Hashable, identity: Hashable) -> None:
        """Cache what a request asks for, in place of the one used least recently."""
        if len(content) > _MAX_REQUEST_BYTES:
            return
        self._identities.keep((scope.store.id, form, content), (monotonic() + _REQUEST_SECONDS, identity))


def _key(scope: Scope, version: str, identity: Hashable) -> Key:
    return (scope.store.id, version, scope.actor.scopes, scope.actor.server_side, identity)


def _known_tags(request: web.Request) -> Collection[str]:
    """Return the tags of the answers that the client has (RFC 9110, section 13.1.2)."""
    if hdrs.IF_NONE_MATCH not in request.headers or request.method not in _REVALIDATED:
        return ()
    return {each.value for each in request.if_none_match or ()}


def _not_modified() -> BytesResponse:
    return BytesResponse(b"", status=304)


def _cached_response(request: web.Request, answer: Answer, scope: Scope, known: Collection[str]) -> web.Response:
    is_revalidated = bool(known) and (answer.tag in known or "*" in known)
    _USES.add("catalogue", "revalidated" if is_revalidated else "hit")
    if is_revalidated:
        return _marked(_not_modified(), scope, answer.tag)
    response = BytesResponse(
        answer.body, status=answer.status, headers=answer.headers, content_type=answer.content_type
    )
    response.encodings = answer.encodings
    return _marked(response, scope, answer.tag)


def _marked(response: web.Response, scope: Scope, tag: str) -> web.Response:
    """Add what caches need to know."""
    seconds = setting(scope, "catalogue_max_age")
    headers = response.headers
    headers[hdrs.ETAG] = f'W/"{tag}"'
    headers[hdrs.CACHE_CONTROL] = (
        f"public, max-age={seconds}, stale-while-revalidate={seconds}" if seconds else "private, no-cache"
    )
    names = _GRAPHQL_VARY if scope.family == "graphql" else _VARY
    if hdrs.VARY not in headers:
        headers[hdrs.VARY] = ", ".join(names)
        return response
    for name in names:
        add_vary(headers, name)
    return response
