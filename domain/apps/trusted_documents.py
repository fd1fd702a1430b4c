"""The trusted GraphQL documents of storefront keys and apps (docs/reference/graphql.md#trusted-documents).

They are registered when a program is deployed, not by its requests, and never evicted. That a program sends no other document is checked
where documents are read: `server.http.graphql_view`, with `resolvers.persisted_documents`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from auth.credential_cache import invalidate_credentials
from kernel.cache import BoundedCache
from kernel.errors import Forbidden, NotFound, ValidationFailed
from kernel.ids import parse_uuid, uuid7
from kernel.scope import Actor, Scope
from kernel.text import has_forbidden_characters
from models import audit
from models.connection import database

MAX_DOCUMENTS = 1_000
MAX_CHARACTERS = 2_000_000
"""Of all documents of a key or an app together."""
MAX_TEXT = 100_000
"""As long as a document may be (`resolvers.engine.limits`)."""
REASON = "document_not_trusted"
_CACHED_CHARACTERS = 8_000_000

_LOCK_KEY = (
    "SELECT id, public_id, trusted_documents_only FROM storefront_keys"
    " WHERE tenant_id = $1 AND public_id = $2 AND revoked_at IS NULL FOR UPDATE"
)
_LOCK_APP = """
    SELECT id, public_id, false AS trusted_documents_only FROM app_installations WHERE tenant_id = $1 AND id = $2 FOR UPDATE
"""
_INSERT = """
    INSERT INTO trusted_documents (tenant_id, public_id, {owner}, hash, text, created_at)
    SELECT $1, id, $2, hash, text, $3 FROM unnest($4::uuid[], $5::bytea[], $6::text[]) AS sent (id, hash, text)
    ON CONFLICT (tenant_id, {owner}, hash) WHERE {owner} IS NOT NULL DO NOTHING
"""
_DELETE_OTHERS = "DELETE FROM trusted_documents WHERE tenant_id = $1 AND {owner} = $2 AND NOT hash = ANY($3::bytea[])"
_COUNT = (
    "SELECT count(*) AS documents, coalesce(sum(char_length(text)), 0) AS characters FROM trusted_documents"
    " WHERE tenant_id = $1 AND {owner} = $2"
)
_CHANGE_KEY = """
    UPDATE storefront_keys SET documents_version = documents_version + 1, trusted_documents_only = $3
    WHERE tenant_id = $1 AND id = $2
"""
_FIND = "SELECT text FROM trusted_documents WHERE tenant_id = $1 AND {owner} = $2 AND hash = $3"
_KEY, _APP = "storefront_key_id", "installation_id"

# By store, key, version of its documents and hash: a change of the documents is another version.
_texts: BoundedCache[tuple[int, int, int, bytes], str] = BoundedCache(max_weight=_CACHED_CHARACTERS, weigh=len)


@dataclass(frozen=True, slots=True)
class TrustedDocuments:
    """What a key or an app has after a change."""

    count: int
    characters: int
    trusted_documents_only: bool


async def set_trusted_documents(
    scope: Scope,
    texts: Sequence[str],
    storefront_key_id: UUID | str | None = None,
    *,
    keep_others: bool = False,
    trusted_documents_only: bool | None = None,
) -> TrustedDocuments:
    """Register the documents of a storefront key, or of the app that calls, in place of those it has unless `keep_others`.

    `trusted_documents_only` decides whether the key accepts other documents; None leaves that as it is. Raise `ValidationFailed` beyond
    the limits, `NotFound` for a key that is absent or revoked, `Forbidden` and `InsufficientPrivileges`.
    """
    by_hash = _checked(texts)
    owner = _APP if scope.actor.installation_id is not None else _KEY
    if owner == _KEY:
        scope.check_privilege("manage_apps")
        if storefront_key_id is None:
            raise ValidationFailed(
                "storefront_key_id is required", field="storefront_key_id", fields={"storefront_key_id": "required"}
            )
    elif storefront_key_id is not None or trusted_documents_only is not None:
        raise Forbidden("an app registers its own documents only")
    async with database.transaction(scope):
        number = scope.actor.installation_id if owner == _APP else parse_uuid(storefront_key_id)
        row = await database.fetchrow(_LOCK_APP if owner == _APP else _LOCK_KEY, scope.store.id, number)
        if row is None:
            raise NotFound("storefront key")
        only = row["trusted_documents_only"] if trusted_documents_only is None else trusted_documents_only
        if not keep_others:
            await database.execute(_DELETE_OTHERS.format(owner=owner), scope.store.id, row["id"], list(by_hash))
        await database.execute(
            _INSERT.format(owner=owner),
            scope.store.id,
            row["id"],
            scope.now,
            [uuid7() for _ in by_hash],
            list(by_hash),
            list(by_hash.values()),
        )
        total = await database.fetchrow(_COUNT.format(owner=owner), scope.store.id, row["id"])
        assert total is not None
        _check_total(total["documents"], total["characters"])
        if owner == _KEY:
            await database.execute(_CHANGE_KEY, scope.store.id, row["id"], only)
            await invalidate_credentials(scope, f"key:{row['id']}")
        details = {"documents": total["documents"], "trusted_documents_only": only}
        await audit.record(scope, "trusted_documents.set", owner.removesuffix("_id"), row["public_id"], details)
    return TrustedDocuments(total["documents"], int(total["characters"]), only)


async def find_trusted(scope: Scope, digest: bytes) -> str | None:
    """Return the document that the caller's key or app has registered under a SHA-256, or None."""
    key = key_of(scope.actor)
    if key is not None:
        assert key.storefront_key_id is not None
        if not key.documents_version:
            return None  # none was ever registered
        name = (scope.store.id, key.storefront_key_id, key.documents_version, digest)
        text = _texts.find(name)
        if text is None:
            text = await database.fetchval(_FIND.format(owner=_KEY), scope.store.id, key.storefront_key_id, digest)
            if text is not None:
                _texts.keep(name, text)
        return text
    if scope.actor.installation_id is not None:
        found_text: str | None = await database.fetchval(
            _FIND.format(owner=_APP), scope.store.id, scope.actor.installation_id, digest
        )
        return found_text
    return None


def key_of(actor: Actor) -> Actor | None:
    """Return the storefront key of a request, also next to a customer's token."""
    key = actor.key or actor
    return key if key.storefront_key_id is not None else None


def not_trusted() -> Forbidden:
    """Return the error of another document."""
    return Forbidden("the storefront key accepts its trusted documents only", details={"reason": REASON})


def _checked(texts: Sequence[str]) -> Mapping[bytes, str]:
    _check_total(len(texts), sum(map(len, texts)))
    for index, text in enumerate(texts):
        if not 0 < len(text) <= MAX_TEXT or has_forbidden_characters(text):
            message = f"document {index} has {len(text)} characters; expected 1 to {MAX_TEXT}, without NUL"
            raise ValidationFailed(message, field="documents", fields={"documents": "invalid"})
    return {hashlib.sha256(text.encode()).digest(): text for text in texts}


def _check_total(documents: int, characters: int) -> None:
    if documents > MAX_DOCUMENTS or characters > MAX_CHARACTERS:
        message = (
            f"{documents} documents of {characters} characters; at most {MAX_DOCUMENTS} of {MAX_CHARACTERS} are kept"
        )
        raise ValidationFailed(message, field="documents", fields={"documents": "too_many"})


def read_manifest(content: Any) -> list[str]:
    """Return the documents of a manifest: of the GraphQL Code Generator and Relay (`{hash: text}`), or of Apollo (`operations`).

    Raise ValueError for another form, and for a document whose id is not the SHA-256 of its text: clients send the id.
    """
    if isinstance(content, Mapping) and isinstance(content.get("operations"), list):
        pairs: Iterable[tuple[Any, Any]] = [
            (each.get("id"), each.get("body")) if isinstance(each, Mapping) else (None, None)
            for each in content["operations"]
        ]
    elif isinstance(content, Mapping):
        pairs = content.items()
    else:
        raise ValueError("the manifest is no JSON object")
    texts = []
    for name, text in pairs:
        if not isinstance(name, str) or not isinstance(text, str):
            raise ValueError(f"{name!r} is no document of a manifest: expected its SHA-256 and its text")
        if name.removeprefix("sha256:").lower() != hashlib.sha256(text.encode()).hexdigest():
            raise ValueError(f"{name[:80]} is not the SHA-256 of its document: make the manifest with this algorithm")
        texts.append(text)
    return texts
