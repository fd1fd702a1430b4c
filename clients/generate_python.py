"""Generate the modules of `vitrine_client.generated` from the OpenAPI documents and the GraphQL schema.

A schema of an OpenAPI document becomes a TypedDict or a type alias, an operation a method. Needs only the standard library.
"""

from __future__ import annotations

import json
import keyword
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FAMILIES = {"current": 100, "apps": 100, "legacy": 250}
"""The families with the largest page of their lists."""
PAGE_SIZES = ("per_page", "limit", "items_per_page")
SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_NO_BODY: dict[str, Any] = {"content": {"application/json": {}}}
WITHOUT_KEY = "Ignores the Idempotency-Key."
HEADER = '''"""{title} Generated from {source}."""

from __future__ import annotations
'''
IMPORTS = """
from collections.abc import AsyncIterator
from typing import Any, ClassVar, Literal, NotRequired, TypeAlias, TypedDict

from vitrine_client.operations import Operations, new_idempotency_key
"""


class Family:
    """Write the module of one OpenAPI document."""

    def __init__(self, name: str, document: dict[str, Any]) -> None:
        self.name = name
        self.document = document
        self.schemas: dict[str, Any] = document["components"]["schemas"]
        self.types: dict[str, str] = {}

    def module(self) -> str:
        """Return the text of the module."""
        for name, schema in self.schemas.items():
            self._declare(name, schema)
        operations = "\n".join(self._operations())
        header = HEADER.format(title=self.document["info"]["description"], source=f"docs/openapi/{self.name}.json")
        return "\n".join([header + IMPORTS, *self.types.values(), operations])

    # --- Types ----------------------------------------------------------------------------------------------------

    def _declare(self, name: str, schema: dict[str, Any]) -> str:
        merged = self._merged(schema)
        if "properties" not in merged:
            self.types[name] = f'{name}: TypeAlias = "{self._type(schema, name)}"'
            return name
        required = set(merged.get("required", ()))
        members = [
            f"    {json.dumps(key)}: {member_type(self._type(member, name + camel(key)), key in required)},"
            for key, member in merged["properties"].items()
        ]
        # The functional form, because keys need not be identifiers.
        self.types[name] = "\n".join([f'{name} = TypedDict("{name}", {{', *members, "})"])
        return name

    def _merged(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Return a schema with the members of its `allOf`."""
        if "$ref" in schema:
            return self._merged(self.schemas[schema["$ref"].rpartition("/")[2]])
        if "allOf" not in schema:
            return schema
        parts = [self._merged(part) for part in schema["allOf"]]
        properties = {key: value for part in parts for key, value in part.get("properties", {}).items()}
        return {"properties": properties, "required": [key for part in parts for key in part.get("required", ())]}

    def _type(self, schema: dict[str, Any], name: str) -> str:
        """Return the type of a schema; an object that has no name gets this one."""
        if "$ref" in schema:
            return str(schema["$ref"].rpartition("/")[2])
        if "enum" in schema:
            return f"Literal[{', '.join(map(repr, schema['enum']))}]"
        for several in ("oneOf", "anyOf"):
            if several in schema:
                parts = [self._type(part, f"{name}{number or ''}") for number, part in enumerate(schema[several])]
                return " | ".join(dict.fromkeys(parts))
        kinds = schema.get("type")
        if isinstance(kinds, list):
            return " | ".join(self._type({**schema, "type": kind}, name) for kind in kinds)
        if kinds == "array":
            return f"list[{self._type(schema.get('items', {}), name + 'Item')}]"
        if schema.get("properties") or "allOf" in schema:
            return self._declare(name, schema)
        if kinds == "object":
            values = schema.get("additionalProperties", {})
            return f"dict[str, {self._type(values, name + 'Value') if isinstance(values, dict) else 'Any'}]"
        return SCALARS.get(str(kinds), "Any")

    # --- Operations -----------------------------------------------------------------------------------------------

    def _operations(self) -> Iterator[str]:
        yield f'class {self.name.capitalize()}Operations(Operations):\n    """{self.document["info"]["description"]}"""'
        yield f"\n    largest_page: ClassVar[int] = {FAMILIES[self.name]}"
        for path, methods in self.document["paths"].items():
            for method, operation in methods.items():
                # Forms with files have no method: the client sends JSON.
                if "application/json" in operation.get("requestBody", _NO_BODY)["content"]:
                    yield from self._operation(path, method, operation)

    def _operation(self, path: str, method: str, operation: dict[str, Any]) -> Iterator[str]:
        name = operation["operationId"]
        references = {parameter.get("$ref", "").rpartition("/")[2] for parameter in operation["parameters"]}
        query = [parameter for parameter in operation["parameters"] if parameter.get("in") == "query"]
        required = [f"{argument(p['name'])}: {self._parameter(p, name)}" for p in query if p["required"]]
        optional = [
            f"{argument(p['name'])}: {self._parameter(p, name)} | None = None" for p in query if not p["required"]
        ]
        positional = [f"{argument(part)}: str" for part in re.findall(r"{(\w+)}", path)]
        sent = [f'"{method.upper()}"', path_text(path)]
        if query:
            sent.append(f"query={query_text(query)}")
        if body := operation.get("requestBody"):
            kind = self._type(body["content"]["application/json"]["schema"], camel(name) + "Body")
            positional.append(f"body: {kind}" + ("" if body.get("required") else " | None = None"))
            sent.append("body=body")
        named = required + optional
        if "IdempotencyKey" in references:
            named.append("idempotency_key: str | None = None")
            sent.append("idempotency_key=idempotency_key or new_idempotency_key()")
        content = next(
            (
                content
                for status, response in operation["responses"].items()
                if status < "3" and (content := response.get("content"))
            ),
            None,
        )
        schema = content["application/json"]["schema"] if content and "application/json" in content else None
        result = "None" if content is None else self._type(schema or {"type": "string"}, camel(name) + "Result")
        arguments = ", ".join(["self", *positional, *(["*", *named] if named else [])])
        yield f'\n    async def {name}({arguments}) -> {result}:\n        """{operation["summary"]}."""'
        yield f"        result: {result} = await self._request({', '.join(sent)})\n        return result"
        if schema is not None and method == "get" and any(parameter["name"] == "page" for parameter in query):
            yield from self._list(name, path, operation["summary"], query, schema)

    def _list(self, name: str, path: str, summary: str, query: list[Any], page: dict[str, Any]) -> Iterator[str]:
        """Yield the method that reads a list page by page."""
        query = [parameter for parameter in query if parameter["name"] != "page"]
        size = next(parameter["name"] for parameter in query if parameter["name"] in PAGE_SIZES)
        required = [f"{argument(p['name'])}: {self._parameter(p, name)}" for p in query if p["required"]]
        optional = [
            f"{argument(p['name'])}: {self._parameter(p, name)} | None = None" for p in query if not p["required"]
        ]
        positional = [f"{argument(part)}: str" for part in re.findall(r"{(\w+)}", path)]
        arguments = ", ".join(["self", *positional, "*", *required, *optional])
        yield f"\n    def {name.replace('get_', 'each_', 1)}({arguments}) -> AsyncIterator[{self._record(page, camel(name))}]:"
        yield f'        """{summary}, page by page."""'
        yield f'        return self._records({path_text(path)}, {query_text(query)}, "{size}")'

    def _record(self, page: dict[str, Any], name: str) -> str:
        """Return the type of the records of a list."""
        for several in ("oneOf", "anyOf"):
            if several in page:
                return self._record(page[several][0], name)
        page = self._merged(page)
        return (
            self._record(next(iter(page["properties"].values())), name)
            if "properties" in page
            else self._type(page["items"], name)
        )

    def _parameter(self, parameter: dict[str, Any], operation: str) -> str:
        kind = self._type(parameter["schema"], camel(operation) + camel(parameter["name"]))
        # The legacy API matches any of several values.
        return f"{kind} | list[str]" if self.name == "legacy" and kind == "str" and not parameter["required"] else kind


def camel(name: str) -> str:
    """Return a name in the form of classes."""
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[^A-Za-z0-9]+", name))


def argument(name: str) -> str:
    """Return a name that can be an argument's."""
    name = re.sub(r"\W", "_", name)
    return f"{name}_" if keyword.iskeyword(name) else name


def member_type(type_: str, is_required: bool) -> str:
    """Return the expression of a member's type, as text because it may be declared later."""
    return json.dumps(type_) if is_required else f"NotRequired[{json.dumps(type_)}]"


def path_text(path: str) -> str:
    """Return the expression of a path with its parameters."""
    return 'f"' + re.sub(r"{(\w+)}", r"{self._part(\1)}", path) + '"' if "{" in path else f'"{path}"'


def query_text(query: list[Any]) -> str:
    """Return the expression of a query."""
    return "{" + ", ".join(f'"{parameter["name"]}": {argument(parameter["name"])}' for parameter in query) + "}"


def mutations(schema: str) -> str:
    """Return the module of what the client knows of the GraphQL schema: the mutations that ignore the Idempotency-Key."""
    body = re.search(r"^type Mutation {\n(.*?)^}", schema, re.DOTALL | re.MULTILINE)
    assert body is not None
    fields = re.findall(r'^  """((?:(?!""").)*)"""\n  (\w+)', body[1], re.DOTALL | re.MULTILINE)
    names = sorted(name for description, name in fields if WITHOUT_KEY in description)
    assert names
    lines = [f"        {name!r}," for name in names]
    header = HEADER.format(title="Mutations that return a secret.", source="schema/public.graphql")
    return "\n".join([header, "WITHOUT_IDEMPOTENCY_KEY = frozenset(", "    {", *lines, "    }", ")", ""])


def generate(repository: Path, folder: Path) -> None:
    """Write the modules into a folder."""
    folder.mkdir(exist_ok=True)
    (folder / "__init__.py").write_text('"""Generated when the package is built."""\n', encoding="utf-8")
    schema = (repository / "schema" / "public.graphql").read_text(encoding="utf-8")
    (folder / "mutations.py").write_text(mutations(schema), encoding="utf-8")
    for name in FAMILIES:
        document = json.loads((repository / "docs" / "openapi" / f"{name}.json").read_text(encoding="utf-8"))
        (folder / f"{name}.py").write_text(Family(name, document).module() + "\n", encoding="utf-8")


if __name__ == "__main__":
    generate(Path(sys.argv[1]), Path(sys.argv[2]))
