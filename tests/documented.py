"""Hold every answer that a test receives against the OpenAPI documents: its status is documented, its body is what they say."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any
from urllib.parse import unquote, urlsplit

from jsonschema_rs import Draft202012Validator

from server.families import LEGACY_BASES, family_of
from server.openapi.documents import documents

_DOCUMENTS = {"current": "current", "apps": "apps", "legacy": "legacy"}


class Undocumented(AssertionError):
    """Say how an answer differs from what is documented."""


def check(method: str, address: str, status: int, body: bytes) -> None:
    """Compare an answer with the document of the family that its address belongs to."""
    path = unquote(urlsplit(address).path)
    name = _DOCUMENTS.get(family_of(path).name)
    found = _operation(name, method, path) if name is not None else None
    if name is None or found is None:
        return  # of no family, or nobody's route: 404 and 405 are told by the form, not by a document
    pattern, operation = found
    said = operation["responses"].get(str(status))
    if said is None:
        raise Undocumented(f"{method} {pattern} answered {status}, which is not documented")
    validator = _validator(name, pattern, "get" if method == "HEAD" else method.lower(), status)
    if validator is None:
        if body:
            raise Undocumented(f"{method} {pattern} answered {status} with a body; none is documented")
        return
    if method == "HEAD" or not body:
        return
    for error in validator.iter_errors(json.loads(body)):
        place = "/".join(map(str, error.instance_path))
        raise Undocumented(f"{method} {pattern} {status}: {place or 'the answer'}: {error.message}")


@lru_cache(maxsize=4096)
def _operation(name: str, method: str, path: str) -> tuple[str, dict[str, Any]] | None:
    if name == "legacy":
        path = _at_its_base(path)
    for pattern, regex, methods in _patterns(name):
        operation = methods.get("get" if method == "HEAD" else method.lower())
        if operation is not None and regex.fullmatch(path):
            return pattern, operation
    return None


def _at_its_base(path: str) -> str:
    """Name a legacy address as the document does: below `/api` unless it has a base of its own, without a slash behind."""
    path = path.rstrip("/")
    stems = [path] + [
        f"/api{path.removeprefix(base)}" for base in LEGACY_BASES[1:] if path.startswith(f"{base}/")
    ]
    known = [
        pattern for pattern in stems if any(regex.fullmatch(pattern) for _, regex, _ in _patterns("legacy"))
    ]
    return known[0] if known else path


@lru_cache(maxsize=8)
def _patterns(name: str) -> list[tuple[str, re.Pattern[str], dict[str, Any]]]:
    paths: dict[str, dict[str, Any]] = documents()[name]["paths"]
    # Fixed segments go before variable ones, as in the router.
    ordered = sorted(paths, key=lambda path: [part.startswith("{") for part in path.split("/")])
    return [(path, re.compile(_regex(path)), paths[path]) for path in ordered]


def _regex(path: str) -> str:
    return "".join(
        "[^/]+" if part.startswith("{") else re.escape(part) for part in re.split(r"(\{\w+\})", path)
    )


@lru_cache(maxsize=4096)
def _validator(name: str, pattern: str, method: str, status: int) -> Draft202012Validator | None:
    document = documents()[name]
    response = document["paths"][pattern][method]["responses"][str(status)]
    if "$ref" in response:
        response = document["components"]["responses"][response["$ref"].rpartition("/")[2]]
    media = response.get("content", {}).get("application/json")
    if media is None:
        return None
    return Draft202012Validator({**media["schema"], "components": document["components"]})
