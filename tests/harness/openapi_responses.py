"""Check responses received by tests against the OpenAPI documents."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote, urlsplit

from jsonschema_rs import Draft202012Validator, Registry

from server.http.families import LEGACY_BASES, family_of
from server.openapi.documents import documents

_DOCUMENTS = {"current": "current", "apps": "apps", "legacy": "legacy"}


class UndocumentedResponse(AssertionError):
    """A response that differs from its documentation."""


# Replayed responses and rate limits are documented for successful responses.
_HEADERS = ("Link", "Retry-After", "WWW-Authenticate")
_HEADERS_OF_SUCCESS = (*_HEADERS, "Idempotent-Replayed", "X-RateLimit-Limit")


def check_response(
    method: str, address: str, status: int, body: bytes, headers: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Raise UndocumentedResponse if the response does not match the document of its family."""
    path = unquote(urlsplit(address).path)
    name = _DOCUMENTS.get(family_of(path).name)
    match = _operation(name, method, path) if name is not None else None
    if name is None or match is None:
        return  # no documented route: the error format of 404 and 405 is checked elsewhere
    pattern, operation = match
    response = operation["responses"].get(str(status))
    if response is None:
        raise UndocumentedResponse(f"{method} {pattern} answered {status}, which is not documented")
    _check_headers(name, f"{method} {pattern} {status}", response, status, headers)
    validator = _validator(name, pattern, "get" if method == "HEAD" else method.lower(), status)
    if validator is None:
        if body and "content" not in response:
            raise UndocumentedResponse(f"{method} {pattern} answered {status} with a body; none is documented")
        return
    if method == "HEAD" or not body:
        return
    for error in validator.iter_errors(json.loads(body)):
        location = "/".join(map(str, error.instance_path))
        raise UndocumentedResponse(f"{method} {pattern} {status}: {location or 'the body'}: {error.message}")


def _check_headers(name: str, label: str, response: Mapping[str, Any], status: int, headers: Mapping[str, str]) -> None:
    if "$ref" in response:
        response = documents()[name]["components"]["responses"][response["$ref"].rpartition("/")[2]]
    for header in _HEADERS if status >= 400 else _HEADERS_OF_SUCCESS:
        if header in headers and header not in response["headers"]:
            raise UndocumentedResponse(f"{label}: the header {header} is not documented")


@lru_cache(maxsize=4096)
def _operation(name: str, method: str, path: str) -> tuple[str, dict[str, Any]] | None:
    if name == "legacy":
        path = _documented_path(path)
    method = "get" if method == "HEAD" else method.lower()
    routes, patterns = _routes(name, method)
    match = routes.fullmatch(path)
    if match is None or match.lastindex is None:
        return None
    pattern = patterns[match.lastindex - 1]
    all_routes, all_patterns = _routes(name)
    first = all_routes.fullmatch(path)
    assert first is not None
    assert first.lastindex is not None
    if _variable_segments(all_patterns[first.lastindex - 1]) < _variable_segments(pattern):
        return None  # another path has a fixed segment there, to methods that it doesn't have too
    return pattern, documents()[name]["paths"][pattern][method]


def _documented_path(path: str) -> str:
    """Return a legacy path as documented: below `/api` unless it has its own base, without a trailing slash."""
    path = path.rstrip("/")
    candidates = [path] + [f"/api{path.removeprefix(base)}" for base in LEGACY_BASES[1:] if path.startswith(f"{base}/")]
    routes, _ = _routes("legacy")
    return next((candidate for candidate in candidates if routes.fullmatch(candidate)), path)


@cache
def _routes(name: str, method: str | None = None) -> tuple[re.Pattern[str], list[str]]:
    """Return an expression with a group for each documented path that has the method, and these paths."""
    paths: dict[str, dict[str, Any]] = documents()[name]["paths"]
    # Fixed segments go before variable ones, as in the router.
    ordered = sorted(
        (path for path in paths if method is None or method in paths[path]),
        key=_variable_segments,
    )
    return re.compile("|".join(f"({_regex(path)})" for path in ordered) or "(?!)"), ordered


def _variable_segments(path: str) -> list[bool]:
    return [part.startswith("{") for part in path.split("/")]


def _regex(path: str) -> str:
    return "".join("[^/]+" if part.startswith("{") else re.escape(part) for part in re.split(r"(\{\w+\})", path))


@lru_cache(maxsize=4096)
def _validator(name: str, pattern: str, method: str, status: int) -> Draft202012Validator | None:
    document = documents()[name]
    response = document["paths"][pattern][method]["responses"][str(status)]
    if "$ref" in response:
        response = document["components"]["responses"][response["$ref"].rpartition("/")[2]]
    media = response.get("content", {}).get("application/json")
    if media is None:
        return None
    schema = _closed(media["schema"], document["components"]["schemas"])
    absolute = json.dumps(schema).replace('"$ref": "#/', f'"$ref": "{_uri(name)}#/')
    return Draft202012Validator(json.loads(absolute), registry=_registry())


@lru_cache(maxsize=1)
def _registry() -> Registry:
    """Return the components of all documents, which all validators share: a copy in each would take gigabytes."""
    resources = []
    for name, document in documents().items():
        schemas = document["components"]["schemas"]
        closed = {component: _closed(schema, schemas) for component, schema in schemas.items()}
        resources.append((_uri(name), {"components": {"schemas": closed}}))
    return Registry(resources)


def _uri(name: str) -> str:
    return f"urn:vitrine:{name}"


def _closed(schema: Any, schemas: Mapping[str, Any]) -> Any:
    """Return the schema without room for undocumented members: clients may ignore them, but the document has to name them."""
    if isinstance(schema, list):
        return [_closed(item, schemas) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "allOf" in schema:
        parts = [_resolved(part, schemas) for part in schema["allOf"]]
        return {**schema, "allOf": parts, "unevaluatedProperties": False}
    closed = {
        name: {key: _closed(member, schemas) for key, member in value.items()}
        if name == "properties"
        else _closed(value, schemas)
        for name, value in schema.items()
    }
    if "properties" in closed and "additionalProperties" not in closed:
        closed["additionalProperties"] = False
    return closed


def _resolved(part: Mapping[str, Any], schemas: Mapping[str, Any]) -> Any:
    name = part.get("$ref", "").rpartition("/")[2]
    return schemas[name] if name else part
