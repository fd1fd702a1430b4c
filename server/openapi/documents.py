"""Make one OpenAPI 3.1 document a family: every mounted route, what it needs, takes and answers, and how the family refuses.

Nothing is written here about single routes. A route says its method, address and credential; the family's `described` module what it
takes and answers, mostly by naming the GraphQL operation; the operation its types. A route without a description is told by the first
line of its handler.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import rest_facade.apps
import rest_facade.current
import rest_facade.legacy
from resolvers.answers import answer_of, variables_of
from resolvers.execute import load
from rest_facade.apps import openapi as apps_described
from rest_facade.current import openapi as current_described
from rest_facade.legacy import openapi as legacy_described
from rest_facade.openapi import Key, OperationResult, RouteDocs, Takes
from rest_facade.records import FRAGMENTS
from rest_facade.routing import Needs, Route
from server.families import family_of

Schema: TypeAlias = dict[str, Any]

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "openapi"
VERSION = "3.1.0"
_PLACE = re.compile(r"\{(\w+)(?::[^{}]*(?:\{[^{}]*\}[^{}]*)*)?\}")
_JSON = "application/json"
_FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class DocumentSource:
    """Describe a document: its title, its routes and their descriptions, where its operations lie, how its errors look."""

    name: str
    title: str
    about: str
    routes: Callable[[], list[Route]]
    told: Callable[[], Mapping[Key, RouteDocs]]
    operations: tuple[Path, ...]
    error: Schema


_DETAIL = {"type": "string"}
_CURRENT_ERROR: Schema = {
    "description": "One of the contract's three forms: `{error, …}`, `{error: 'validation_failed', fields}`,"
    " `{error: {code, message, details}}`.",
    "type": "object",
    "properties": {
        "error": {
            "anyOf": [
                {"type": "string"},
                {
                    "type": "object",
                    "properties": {
                        "code": {"type": "string"},
                        "message": {"type": "string"},
                        "details": {"type": "object"},
                    },
                    "required": ["code", "message"],
                },
            ]
        },
        "detail": _DETAIL,
        "message": _DETAIL,
        "fields": {"type": "object", "additionalProperties": {"type": "string"}},
    },
    "required": ["error"],
}
_APP_ERROR: Schema = {
    "type": "object",
    "properties": {
        "error": {"type": "string", "description": "A stable code."},
        "message": {"type": "string"},
        "status": {"type": "integer"},
    },
    "required": ["error", "message", "status"],
}
_LEGACY_ERROR: Schema = {
    "description": "`{status, message}`; the sign-in route answers `{error}` or `{message}`.",
    "type": "object",
    "properties": {
        "status": {"type": "integer"},
        "message": {"type": "string"},
        "error": {"type": "string"},
    },
}

FAMILIES: tuple[DocumentSource, ...] = (
    DocumentSource(
        "current",
        "Vitrine · current API",
        "Sign-in, administration, the storefront and the payment gateway, under `/api/v1`.",
        lambda: rest_facade.current.routes(),
        lambda: current_described.told(),
        (rest_facade.current.OPERATIONS, FRAGMENTS),
        _CURRENT_ERROR,
    ),
    DocumentSource(
        "apps",
        "Vitrine · app integration",
        "What installed apps call: `/api/admin` and `/api/storefront`. Every answer carries `X-RateLimit-*`.",
        lambda: rest_facade.apps.routes(),
        lambda: apps_described.told(),
        (rest_facade.apps.OPERATIONS, FRAGMENTS),
        _APP_ERROR,
    ),
    DocumentSource(
        "legacy",
        "Vitrine · legacy layer",
        "The REST API of CS-Cart's form. Every address also answers under `/api/v1.0`, `/api/2.0` and `/api/2`, with and without a"
        " slash behind.",
        lambda: rest_facade.legacy.routes(),
        lambda: legacy_described.told(),
        (Path(rest_facade.legacy.__file__).parent / "operations",),
        _LEGACY_ERROR,
    ),
)

_BEARER = {"type": "http", "scheme": "bearer"}
_SCHEMES: Mapping[str, Schema] = {
    "user": {**_BEARER, "description": "A user's access token (`POST /api/v1/auth/login`)."},
    "app": {**_BEARER, "description": "An app's access token (`vat_…`)."},
    "storefront_key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
    "gateway": {"type": "apiKey", "in": "header", "name": "X-Hub-Signature-256"},
    "basic": {"type": "http", "scheme": "basic", "description": "An administrator's e-mail and API key."},
    "legacy_token": {
        **_BEARER,
        "description": "A token of `POST /api/auth_tokens`, or a user's access token.",
    },
}
_SECURITY: Mapping[Needs, tuple[str, ...]] = {
    Needs.SIGNATURE: ("gateway",),
    Needs.USER: ("user",),
    Needs.ADMIN: ("user", "app"),
    Needs.APP: ("app",),
    Needs.STOREFRONT_KEY: ("storefront_key",),
    Needs.LEGACY_ANY: ("basic", "legacy_token"),
    Needs.LEGACY_ADMIN: ("basic", "legacy_token"),
    Needs.VENDOR: ("basic", "legacy_token"),
}
# How any route of a family may refuse, by what the contract says of the status.
_REFUSALS: Mapping[int, str] = {
    400: "What was sent can't be read, lacks something, or holds a value that is not allowed.",
    401: "No credential, or a bad one.",
    403: "A good credential without the right, or one of another store.",
    404: "The record, or the store, is not there.",
    409: "It conflicts with how things stand.",
    413: "The body is larger than 2 MiB.",
    422: "A rule of the store refuses it.",
    429: "Too many requests; `Retry-After` says how long to wait.",
    500: "Nobody foresaw it.",
    503: "The store is closed, or the route took too long.",
}
_CHANGING = ("POST", "PUT", "PATCH")


@lru_cache(maxsize=1)
def documents() -> Mapping[str, Schema]:
    """Give the document of each family by its name, made once."""
    return {family.name: document(family) for family in FAMILIES}


def text_of(made: Schema) -> str:
    """Write a document as it is kept and served."""
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


def document(family: DocumentSource) -> Schema:
    """Make the document of a family."""
    return _Maker(family).document()


def undescribed(family: DocumentSource) -> list[Key]:
    """Give the descriptions of a family that belong to no route of it."""
    mounted = {(route.method, route.path) for route in family.routes()}
    return sorted(key for key in family.told() if key not in mounted)


def _address(path: str) -> str:
    return _PLACE.sub(r"{\1}", path)


def _from_handler(route: Route) -> RouteDocs:
    first = (route.handler.__doc__ or route.path).strip().split("\n")[0].rstrip(".")
    return RouteDocs(
        first,
        {},
        status=201 if route.creates else 200,
        body={"type": "object"} if route.method in _CHANGING else None,
    )


class _Maker:
    """Make one document; what operations answer becomes a component, named after the operation."""

    def __init__(self, family: DocumentSource) -> None:
        self._family = family
        self._operations = load(*family.operations)
        self._schemas: dict[str, Schema] = {"Error": family.error}

    def document(self) -> Schema:
        family, told = self._family, self._family.told()
        paths: dict[str, dict[str, Any]] = {}
        needs: set[str] = set()
        for route in sorted(family.routes(), key=lambda each: (_address(each.path), each.method)):
            if family_of(route.path).name == "plain":
                continue
            said = told.get((route.method, route.path)) or _from_handler(route)
            paths.setdefault(_address(route.path), {})[route.method.lower()] = self._operation(route, said)
            needs.update(_SECURITY.get(route.needs, ()))
        return {
            "openapi": VERSION,
            "info": {"title": family.title, "version": "1", "description": family.about},
            "paths": paths,
            "components": {
                "schemas": dict(sorted(self._schemas.items())),
                "responses": {f"Refused{status}": _refused(text) for status, text in _REFUSALS.items()},
                "securitySchemes": {name: _SCHEMES[name] for name in sorted(needs)},
                "parameters": _SHARED_PARAMETERS,
            },
        }

    def _operation(self, route: Route, said: RouteDocs) -> Schema:
        made: Schema = {
            "operationId": _operation_id(route),
            "tags": [_tag(route.path)],
            "summary": said.summary,
            "parameters": [*_parameters(route, said)],
        }
        if said.body is not None and route.method in _CHANGING:
            schema = self._body(said.body)
            media = (_JSON, _FORM) if said.forms else (_JSON,)
            made["requestBody"] = {
                "required": bool(schema.get("required")),
                "content": {each: {"schema": schema} for each in media},
            }
        made["responses"] = self._responses(said)
        made["security"] = [{name: []} for name in _SECURITY.get(route.needs, ())]
        return made

    def _responses(self, said: RouteDocs) -> Schema:
        found: dict[str, Any] = {str(said.status): self._success(said.answer, said.media)}
        for status, answer in said.also.items():
            found[str(status)] = self._success(answer, said.media)
        for status in _REFUSALS:
            found.setdefault(str(status), {"$ref": f"#/components/responses/Refused{status}"})
        return dict(sorted(found.items()))

    def _success(self, answer: Any, media: str) -> Schema:
        if answer is None:
            return {"description": "Done; there is no body."}
        return {"description": "Done.", "content": {media: {"schema": self._filled(answer)}}}

    def _filled(self, told: Any) -> Any:
        """Put in place of each `OperationResult` what its operation answers."""
        if isinstance(told, OperationResult):
            return self._named(told)
        if isinstance(told, Mapping):
            return {name: self._filled(value) for name, value in told.items()}
        if isinstance(told, list | tuple):
            return [self._filled(value) for value in told]
        return told

    def _named(self, answer: OperationResult) -> Schema:
        schema = self._shown(answer)
        if "properties" not in schema:
            return schema
        name = answer.operation + ("Row" if answer.inside else "")
        if self._schemas.setdefault(name, schema) != schema:
            return schema
        return {"$ref": f"#/components/schemas/{name}"}

    def _shown(self, answer: OperationResult) -> Schema:
        schema = _there(answer_of(self._operations[answer.operation], answer.field))
        if answer.inside:
            schema = _there(schema["properties"][answer.inside])
            schema = _there(schema["items"]) if schema.get("type") == "array" else schema
        elif answer.first and schema.get("type") == "array":
            schema = _there(schema["items"])
        properties = schema.get("properties")
        if properties is None:
            return schema
        if answer.is_remade:
            properties = {name: value for name, value in properties.items() if not _has_parts(value)}
        names = answer.only or tuple(name for name in properties if name not in answer.without)
        # What the facade makes of other members is there too, and nothing is known of it.
        shown = {
            name: answer.over[name] if name in answer.over else properties.get(name, {}) for name in names
        }
        required = [name for name in schema.get("required", ()) if name in shown]
        return {**schema, "properties": shown, "required": required}

    def _body(self, told: Any) -> Schema:
        if not isinstance(told, Takes):
            return dict(told)
        variables = variables_of(self._operations[told.operation])
        taken = _there(variables[told.variable])["properties"] if told.variable else variables
        made: Schema = {"type": "object", "properties": {name: taken.get(name, {}) for name in told.names}}
        return {**made, "required": list(told.required)} if told.required else made


def _has_parts(schema: Schema) -> bool:
    kinds = schema.get("type", "object")
    return "object" in kinds or "array" in kinds


def _refused(text: str) -> Schema:
    return {
        "description": text,
        "content": {_JSON: {"schema": {"$ref": "#/components/schemas/Error"}}},
    }


_SHARED_PARAMETERS: Mapping[str, Schema] = {
    "Store": {
        "name": "X-Tenant-ID",
        "in": "header",
        "description": "The store's UUID, where a shared address is called.",
        "schema": {"type": "string", "format": "uuid"},
    },
    "IdempotencyKey": {
        "name": "Idempotency-Key",
        "in": "header",
        "description": "The same key with the same body has one effect and one answer, for 24 hours.",
        "schema": {"type": "string", "pattern": "^[!-~]{1,255}$"},
    },
}


def _operation_id(route: Route) -> str:
    words = [word for word in re.split(r"[^A-Za-z0-9]+", _PLACE.sub(r"by_\1", route.path)) if word]
    return "_".join([route.method.lower(), *words[1:]])


def _tag(path: str) -> str:
    parts = [part for part in path.split("/") if part and not part.startswith("{")]
    known = [part for part in parts if part not in ("api", "v1", "2.0", "admin", "storefront")]
    return known[0] if known else parts[-1]


def _parameters(route: Route, said: RouteDocs) -> Iterable[Schema]:
    for name in _PLACE.findall(route.path):
        yield {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
    if route.needs is not Needs.NOTHING:
        yield {"$ref": "#/components/parameters/Store"}
    if route.creates:
        yield {"$ref": "#/components/parameters/IdempotencyKey"}
    for name, schema in said.query.items():
        yield {"name": name, "in": "query", "required": name in said.required_query, "schema": dict(schema)}


def _there(schema: Schema) -> Schema:
    """Leave null out: a record that is not there is a 404."""
    if "anyOf" in schema:
        return dict(schema["anyOf"][0])
    kind = schema.get("type")
    if isinstance(kind, list):
        return {**schema, "type": kind[0]}
    return schema
