"""Read GraphQL multipart requests: `operations`, `map`, then the files (docs/reference/graphql.md#multipart-requests).

The community's specification: https://github.com/jaydenseric/graphql-multipart-request-spec
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

from aiohttp import web
from graphql import NamedTypeNode, OperationType

from kernel.errors import MalformedRequest
from kernel.received_files import FormPart, ReceivedFile
from kernel.request_bodies import MalformedBody, parse_json
from kernel.text import repr_value
from resolvers.engine.prepare import PreparedDocument
from resolvers.media import FORM_ACCESS
from rest_facade.routing import SCOPE
from server.http.forms import MAX_FILES, receive_form, respond_and_discard
from server.http.limits import has_credential

PREFLIGHT_HEADERS = ("Apollo-Require-Preflight", "X-Apollo-Operation-Name")
"""Headers that a form of another site can't send: a browser asks the server first."""
Names: TypeAlias = frozenset[str]
NONE: Names = frozenset()
_ORDER = "the parts of a multipart request are operations, map, then the files"


async def execute_form(
    request: web.Request,
    execute: Callable[..., Awaitable[web.StreamResponse]],
    refuse: Callable[[str], web.Response],
) -> web.StreamResponse:
    """Execute a multipart request as its operation with the files in the variables; remove the files afterwards."""

    async def respond() -> web.StreamResponse:
        try:
            body, files = await _read_operations(request)
        except MalformedRequest as error:
            return refuse(error.details.get("detail", error.message))
        return await execute(body, allow_mutations=True, files=files)

    return await respond_and_discard(request, respond())


async def _read_operations(request: web.Request) -> tuple[dict[str, Any], Names]:
    """Return the body of a multipart request, with the files in its variables, and the names of these.

    Raises `MalformedRequest`, and before the body is read the errors of a caller who may not upload files.
    """
    if not has_credential(request.headers) and not any(name in request.headers for name in PREFLIGHT_HEADERS):
        raise MalformedRequest(
            f"a multipart request needs a credential, or the header {' or '.join(PREFLIGHT_HEADERS)}"
        )
    FORM_ACCESS.check(request[SCOPE])
    form = await receive_form(request)
    return operations_of(form.parts)


def misplaced_file(prepared: PreparedDocument, name: str | None, files: Names) -> str | None:
    """Return what is wrong with an operation whose variables of these names contain files, None for nothing.

    Whatever else a variable is may be serialized as JSON before it is parsed, which a file can't be.
    """
    operation = None if prepared.errors else prepared.operation(name)
    if operation is None:
        return None  # it isn't executed
    if operation.operation is not OperationType.MUTATION:
        return "only a mutation takes files"
    declared = {each.variable.name.value: each.type for each in operation.variable_definitions or ()}
    for file in sorted(files):
        type_: Any = declared.get(file)
        while type_ is not None and not isinstance(type_, NamedTypeNode):
            type_ = type_.type
        if type_ is None or type_.name.value != "Upload":
            return f"the variable {repr_value(file)} contains a file; expected it to be declared as Upload"
    return None


def operations_of(parts: Sequence[FormPart]) -> tuple[dict[str, Any], Names]:
    """Return the operation of a form's parts, with each file where `map` says, and the variables with files; raise `MalformedRequest`."""
    if [name for name, _ in parts[:2]] != ["operations", "map"]:
        raise MalformedRequest(_ORDER)
    operations, places = (_parse_part(name, value) for name, value in parts[:2])
    if isinstance(operations, list):
        raise MalformedRequest("batches are not supported; send one operation")
    if not isinstance(operations, dict):
        raise MalformedRequest("operations must be a JSON object")
    files = _files(parts[2:])
    variables = set()
    for name, paths in _parse_map(places).items():
        if name not in files:
            raise MalformedRequest(f"map names the file {repr_value(name)}, which was not sent")
        for path in paths:
            _place(operations, path, files[name])
            variables.add(path.split(".")[1])
    if unplaced := files.keys() - places.keys():
        raise MalformedRequest(f"the file {repr_value(min(unplaced))} is not in map")
    return operations, frozenset(variables)


def _parse_part(name: str, value: str | ReceivedFile) -> Any:
    if isinstance(value, ReceivedFile):
        raise MalformedRequest(f"{name} is a file; expected JSON")
    try:
        return parse_json(value.encode())
    except MalformedBody as error:
        raise MalformedRequest(f"{name}: {error}") from error


def _files(parts: Sequence[FormPart]) -> dict[str, ReceivedFile]:
    files: dict[str, ReceivedFile] = {}
    for name, value in parts:
        if name in ("operations", "map"):
            raise MalformedRequest(_ORDER)
        if not isinstance(value, ReceivedFile):
            raise MalformedRequest(f"the part {repr_value(name)} has no filename; expected a file")
        if name in files:
            raise MalformedRequest(f"the file {repr_value(name)} was sent twice")
        files[name] = value
    return files


def _parse_map(places: Any) -> Mapping[str, list[str]]:
    if not isinstance(places, dict) or not all(
        isinstance(paths, list) and all(isinstance(path, str) for path in paths) for paths in places.values()
    ):
        raise MalformedRequest('map must be a JSON object of lists, such as {"0": ["variables.file"]}')
    if len(places) > MAX_FILES or sum(map(len, places.values())) > MAX_FILES:
        raise MalformedRequest(f"map has more than {MAX_FILES} files or places")
    return places


def _place(operations: dict[str, Any], path: str, file: ReceivedFile) -> None:
    """Put a file in the place of a null in the variables."""
    *steps, last = path.split(".")
    container: Any = operations if steps[:1] == ["variables"] else None
    for step in steps:
        container = _member(container, step)
    key = _key(container, last)
    if key is None or container[key] is not None:
        raise MalformedRequest(f"map: there is no null at {repr_value(path)} of operations, as a file's place is")
    container[key] = file


def _member(container: Any, step: str) -> Any:
    key = _key(container, step)
    return None if key is None else container[key]


def _key(container: Any, step: str) -> str | int | None:
    """Return the key of a member of an object or list; None if there is none."""
    if isinstance(container, dict):
        return step if step in container else None
    if (
        isinstance(container, list)
        and step.isascii()
        and step.isdigit()
        and len(step) < 6
        and int(step) < len(container)
    ):
        return int(step)
    return None
