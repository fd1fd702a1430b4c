"""Build one OpenAPI 3.1 document per family: every route with its credential, parameters, request body, responses and errors.

A route declares its method, path and credential; the family's `openapi` module its input and output, mostly by naming the GraphQL
operation; the operation its types. A route without a description is described by the first line of its handler's docstring.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

import rest_facade.apps
import rest_facade.current
import rest_facade.legacy
from kernel.json_schema import FREE_OBJECT, named
from resolvers.execute import FacadeOperation, load_operations
from rest_facade.apps import openapi as apps_described
from rest_facade.current import openapi as current_described
from rest_facade.legacy import openapi as legacy_described
from rest_facade.legacy.resource_operations import load_legacy_operations
from rest_facade.openapi import RouteDocs, RouteKey
from rest_facade.records import FRAGMENTS
from rest_facade.routing import Credential, Route
from server.http.families import family_of
from server.openapi import headers
from server.openapi.components import NamedSchemas, reference
from server.openapi.examples import Examples
from server.openapi.operations import OperationSchemas
from server.openapi.security import SCHEMES, security_of

Schema: TypeAlias = dict[str, Any]

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "openapi"
VERSION = "3.1.0"
_PATH_PARAMETER = re.compile(r"\{(\w+)(?::[^{}]*(?:\{[^{}]*\}[^{}]*)*)?\}")
_JSON = "application/json"
_EVENT_STREAM = "text/event-stream"
_MULTIPART = "multipart/form-data"
_FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class DocumentSource:
    """The source of a document: title, routes, their descriptions, operations, and its error schema."""

    name: str
    title: str
    description: str
    routes: Callable[[], list[Route]]
    docs: Callable[[], Mapping[RouteKey, RouteDocs]]
    operations: Callable[[], Mapping[str, FacadeOperation]]
    error: Schema


# Besides their documented members, errors have details such as the allowed values.
_DETAIL = {"type": "string"}
_CURRENT_ERROR: Schema = {
    "description": "One of three forms: `{error, …}`, `{error: 'validation_failed', fields}`,"
    " `{error: {code, message, details}}`.",
    "type": "object",
    "properties": {
        "error": {
            "anyOf": [
                {"type": "string"},
                {
                    "type": "object",
                    "properties": {"code": {"type": "string"}, "message": {"type": "string"}, "details": FREE_OBJECT},
                    "required": ["code", "message"],
                },
            ]
        },
        "error_description": {"type": "string", "description": "The problem, of a token request (RFC 6749)."},
        "detail": _DETAIL,
        "message": _DETAIL,
        "fields": {"type": "object", "additionalProperties": {"type": "string"}},
    },
    "required": ["error"],
    "additionalProperties": True,
}
_APP_ERROR: Schema = {
    "type": "object",
    "properties": {
        "error": {"type": "string", "description": "A stable code."},
        "message": {"type": "string"},
        "status": {"type": "integer"},
        "detail": _DETAIL,
    },
    "required": ["error", "message", "status"],
    "additionalProperties": True,
}
_LEGACY_ERROR: Schema = {
    "description": "`{status, message}`; the sign-in route returns `{error}` or `{message}`.",
    "type": "object",
    "properties": {
        "status": {"type": "integer"},
        "message": {"type": "string"},
        "error": {"type": "string"},
        "detail": _DETAIL,
    },
    "additionalProperties": True,
}

FAMILIES: tuple[DocumentSource, ...] = (
    DocumentSource(
        "current",
        "Vitrine · current API",
        "Sign-in, administration, the storefront and the payment gateway, under `/api/v1`.",
        lambda: rest_facade.current.routes(),
        lambda: current_described.route_docs(),
        lambda: load_operations(rest_facade.current.OPERATIONS, FRAGMENTS),
        _CURRENT_ERROR,
    ),
    DocumentSource(
        "apps",
        "Vitrine · app integration",
        "The API of installed apps, under `/api/admin` and `/api/storefront`. Every response has `X-RateLimit-*` headers.",
        lambda: rest_facade.apps.routes(),
        lambda: apps_described.route_docs(),
        lambda: load_operations(rest_facade.apps.OPERATIONS, FRAGMENTS),
        _APP_ERROR,
    ),
    DocumentSource(
        "legacy",
        "Vitrine · legacy layer",
        "A CS-Cart compatible REST API. Every route is also served under `/api/v1.0`, `/api/2.0` and `/api/2`, with and without a"
        " trailing slash.",
        lambda: rest_facade.legacy.routes(),
        lambda: legacy_described.route_docs(),
        load_legacy_operations,
        _LEGACY_ERROR,
    ),
)

# The errors that any route may return.
_ERROR_DESCRIPTIONS: Mapping[int, str] = {
    400: "The request is malformed, incomplete or has an invalid value.",
    401: "The credential is missing or invalid.",
    403: "The credential lacks the privilege or belongs to another store.",
    404: "The record or the store does not exist.",
    409: "The request conflicts with the current state.",
    413: "The body is larger than 2 MiB.",
    415: "The content coding of the body is not supported; `Accept-Encoding` lists those that are.",
    422: "A business rule rejects the request.",
    429: "Rate limit exceeded; `Retry-After` is the number of seconds to wait.",
    500: "Unexpected error.",
    503: "The store is closed, or the request timed out.",
}
_BODY_METHODS = ("POST", "PUT", "PATCH")


@lru_cache(maxsize=1)
def documents() -> Mapping[str, Schema]:
    """Return the document of each family by name, built once."""
    return {family.name: document(family) for family in FAMILIES}


def serialize(document: Schema) -> str:
    """Serialize a document as it is stored and served."""
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def document(family: DocumentSource) -> Schema:
    """Build the document of a family."""
    return _DocumentBuilder(family).document()


def _openapi_path(path: str) -> str:
    return _PATH_PARAMETER.sub(r"{\1}", path)


def _from_handler(route: Route) -> RouteDocs:
    first = (route.handler.__doc__ or route.path).strip().split("\n")[0].rstrip(".")
    return RouteDocs(
        first,
        {},
        status=201 if route.creates else 200,
        body={"type": "object"} if route.method in _BODY_METHODS else None,
    )


class _DocumentBuilder:
    """Build one document."""

    def __init__(self, family: DocumentSource) -> None:
        self._family = family
        self._operations = OperationSchemas(family.operations())
        self._schemas = NamedSchemas()
        self._schemas.extract(named("Error", family.error))

    def document(self) -> Schema:
        family, docs = self._family, self._family.docs()
        paths: dict[str, dict[str, Any]] = {}
        schemes: set[str] = set()
        names: set[str] = {headers.REQUEST_ID, *chain.from_iterable(headers.OF_ERRORS.values())}
        for route in sorted(family.routes(), key=lambda route: (_openapi_path(route.path), route.method)):
            if family_of(route.path).name == "plain":
                continue
            route_docs = docs.get((route.method, route.path)) or _from_handler(route)
            paths.setdefault(_openapi_path(route.path), {})[route.method.lower()] = self._operation(route, route_docs)
            operation = paths[_openapi_path(route.path)][route.method.lower()]
            schemes.update(chain.from_iterable(operation["security"]))
            names.update(_headers_of(route, route_docs))
        return {
            "openapi": VERSION,
            "info": {"title": family.title, "version": "1", "description": family.description},
            "servers": [{"url": "/", "description": "The store's host, or one that stores share."}],
            "paths": paths,
            "components": {
                "schemas": self._schemas.sorted(),
                "responses": {
                    f"Refused{status}": _error_response(status, text) for status, text in _ERROR_DESCRIPTIONS.items()
                },
                "securitySchemes": {name: SCHEMES[name] for name in sorted(schemes)},
                "parameters": headers.PARAMETERS,
                "headers": {name: headers.HEADERS[name] for name in sorted(names)},
            },
        }

    def _operation(self, route: Route, route_docs: RouteDocs) -> Schema:
        operation: Schema = {
            "operationId": _operation_id(route),
            "tags": [_tag(route.path)],
            "summary": route_docs.summary,
            "parameters": [*_parameters(route, route_docs)],
        }
        declared = route_docs.body if route_docs.body is not None else route_docs.upload
        if declared is not None and route.method in _BODY_METHODS:
            body = self._operations.expand(declared)
            content = {_JSON: {"schema": self._schemas.extract(body)}} if route_docs.body is not None else {}
            if route_docs.forms:
                # Generators name a body by its schema: one schema for two media types would be one body.
                form = named(f"{body['title']}Form", body)
                content[_FORM] = {"schema": self._schemas.extract(form)}
            if route_docs.upload is not None:
                content[_MULTIPART] = {"schema": self._schemas.extract(route_docs.upload)}
            examples = Examples(self._schemas.named, _tag(route.path))
            for media in content.values():
                media["example"] = examples.of(media["schema"])
            operation["requestBody"] = {"required": bool(body.get("required")), "content": content}
        operation["responses"] = self._responses(route_docs, headers.references(_headers_of(route, route_docs)))
        operation["security"] = security_of(route.credential, self._operations.access_of(route_docs))
        return operation

    def _responses(self, route_docs: RouteDocs, of_success: Schema) -> Schema:
        results = {route_docs.status: route_docs.response, **route_docs.other_responses}
        responses: dict[str, Any] = {
            str(status): {**self._success(status, result, route_docs.media), "headers": of_success}
            for status, result in results.items()
        }
        if route_docs.streams:
            content = responses[str(route_docs.status)]["content"]
            content[_EVENT_STREAM] = {"schema": {"type": "string", "description": route_docs.streams}}
        responses |= {str(status): _error_response(status, text) for status, text in route_docs.errors.items()}
        for status in _ERROR_DESCRIPTIONS:
            responses.setdefault(str(status), {"$ref": f"#/components/responses/Refused{status}"})
        return dict(sorted(responses.items()))

    def _success(self, status: int, result: Any, media: str) -> Schema:
        if result is None:
            return {"description": headers.NOT_MODIFIED if status == 304 else "Success; no body."}
        return {"description": "Success.", "content": {media: {"schema": self._schema(result)}}}

    def _schema(self, described: Any) -> Any:
        return self._schemas.extract(self._operations.expand(described))


def _error_response(status: int, text: str) -> Schema:
    names = (headers.REQUEST_ID, *headers.OF_ERRORS.get(status, ()))
    return {
        "description": text,
        "headers": headers.references(names),
        "content": {_JSON: {"schema": reference("Error")}},
    }


def _headers_of(route: Route, route_docs: RouteDocs) -> Iterator[str]:
    """Yield the headers of a route's successful responses."""
    family = family_of(route.path)
    yield headers.REQUEST_ID
    if family.has_rate_limit_headers:
        yield from headers.RATE_LIMITS
    if "page" in route_docs.query and family.name != "legacy":
        yield headers.LINK
    if route.creates:
        yield headers.REPLAYED
    if route.is_catalogue:
        yield from headers.OF_CATALOGUE


def _operation_id(route: Route) -> str:
    words = [word for word in re.split(r"[^A-Za-z0-9]+", _PATH_PARAMETER.sub(r"by_\1", route.path)) if word]
    return "_".join([route.method.lower(), *words[1:]])


def _tag(path: str) -> str:
    parts = [part for part in path.split("/") if part and not part.startswith("{")]
    segments = [part for part in parts if part not in ("api", "v1", "2.0", "admin", "storefront")]
    return segments[0] if segments else parts[-1]


def _parameters(route: Route, route_docs: RouteDocs) -> Iterable[Schema]:
    for name in _PATH_PARAMETER.findall(route.path):
        yield {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
    if route.credential is not Credential.NONE:
        yield {"$ref": "#/components/parameters/Store"}
    if route.creates:
        yield {"$ref": "#/components/parameters/IdempotencyKey"}
    if route.is_catalogue:
        yield dict(headers.KNOWN_VERSION)
    for name, schema in route_docs.query.items():
        yield {"name": name, "in": "query", "required": name in route_docs.required_query, "schema": dict(schema)}
    for name, schema in route_docs.headers.items():
        yield {"name": name, "in": "header", "required": False, "schema": dict(schema)}
