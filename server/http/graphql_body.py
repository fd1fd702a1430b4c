"""Check the form of a request's body, as JSON of any client or the parameters of a GET."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_PERSISTED_QUERY_VERSION = 1
_SHA256 = re.compile("[0-9a-fA-F]{64}")
_BODY_FIELDS: Mapping[str, tuple[type, str]] = {
    "query": (str, "a string"),
    "documentId": (str, "a string"),
    "variables": (dict, "an object"),
    "operationName": (str, "a string"),
    "extensions": (dict, "an object"),
}


def find_body_error(body: dict[str, Any]) -> str | None:
    """Return what is wrong with the members of a request; None for nothing."""
    for name, value in body.items():
        expected = _BODY_FIELDS.get(name)
        if expected is not None and value is not None and not isinstance(value, expected[0]):
            return f"{name} must be {expected[1]}"
    persisted = (body.get("extensions") or {}).get("persistedQuery")
    if persisted is not None and not _is_persisted_query(persisted):
        return "extensions.persistedQuery must be {version: 1, sha256Hash: <64 hexadecimal digits>}"
    if not body.get("query") and not body.get("documentId") and persisted is None:
        return "query or documentId is required"
    return None


def malformed(message: str) -> dict[str, Any]:
    """Return the error of a malformed request."""
    return {"message": message, "extensions": {"code": "VALIDATION_FAILED"}}


def _is_persisted_query(value: Any) -> bool:
    """Return whether a value has Apollo's form of a persisted query."""
    return (
        isinstance(value, dict)
        and value.get("version") == _PERSISTED_QUERY_VERSION
        and isinstance(value.get("sha256Hash"), str)
        and _SHA256.fullmatch(value["sha256Hash"]) is not None
    )
