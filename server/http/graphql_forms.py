"""Read GraphQL multipart requests: `operations`, `map`, then the files (docs/reference/graphql.md#multipart-requests).

The community's specification: https://github.com/jaydenseric/graphql-multipart-request-spec
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from aiohttp import web

from kernel.errors import MalformedRequest
from kernel.received_files import FormPart, ReceivedFile
from kernel.request_bodies import MalformedBody, parse_json
from kernel.text import repr_value
from resolvers.media import UPLOAD_ACCESS
from rest_facade.routing import SCOPE
from server.http.forms import MAX_FILES, receive_form, respond_and_discard
from server.http.limits import has_credential

PREFLIGHT_HEADERS = ("Apollo-Require-Preflight", "X-Apollo-Operation-Name")
"""Headers that a form of another site can't send: a browser asks the server first."""
_ORDER = "the parts of a multipart request are operations, map, then the files"


async def execute_form(
    request: web.Request,
    execute: Callable[[dict[str, Any]], Awaitable[web.StreamResponse]],
    refuse: Callable[[str], web.Response],
) -> web.StreamResponse:
    """Execute a multipart request as its operation with the files in the variables; remove the files afterwards.

    Its answer is never kept: no storefront key may upload files.
    """

    async def respond() -> web.StreamResponse:
        try:
            body = await _read_operations(request)
        except MalformedRequest as error:
            return refuse(error.details.get("detail", error.message))
        return await execute(body)

    return await respond_and_discard(request, respond())


async def _read_operations(request: web.Request) -> dict[str, Any]:
    """Return the body of a multipart request, with the files in its variables.

    Raises `MalformedRequest`, and before the body is read the errors of a caller who may not upload files.
    """
    if not has_credential(request.headers) and not any(name in request.headers for name in PREFLIGHT_HEADERS):
        raise MalformedRequest(
            f"a multipart request needs a credential, or the header {' or '.join(PREFLIGHT_HEADERS)}"
        )
    UPLOAD_ACCESS.check(request[SCOPE])
    form = await receive_form(request)
    return operations_of(form.parts)


def operations_of(parts: Sequence[FormPart]) -> dict[str, Any]:
    """Return the operation of a form's parts, with each file where `map` says; raise `MalformedRequest`."""
    if [name for name, _ in parts[:2]] != ["operations", "map"]:
        raise MalformedRequest(_ORDER)
    operations, places = (_json(name, value) for name, value in parts[:2])
    if isinstance(operations, list):
        raise MalformedRequest("batches are not supported; send one operation")
    if not isinstance(operations, dict):
        raise MalformedRequest("operations must be a JSON object")
    files = _files(parts[2:])
    for name, paths in _checked_map(places).items():
        if name not in files:
            raise MalformedRequest(f"map names the file {repr_value(name)}, which was not sent")
        for path in paths:
            _place(operations, path, files[name])
    if unplaced := files.keys() - places.keys():
        raise MalformedRequest(f"the file {repr_value(min(unplaced))} is not in map")
    return operations


def _json(name: str, value: str | ReceivedFile) -> Any:
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


def _checked_map(places: Any) -> Mapping[str, list[str]]:
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
