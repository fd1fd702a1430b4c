"""Read of a GraphQL document what decides whether it may be sent again: its operations and their root fields."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from vitrine_client.generated.mutations import WITHOUT_IDEMPOTENCY_KEY

_TOKEN = re.compile(
    r'"""(?:\\"""|.)*?"""|"(?:\\.|[^"\\\n])*"|\#[^\n\r]*|\.\.\.|[_A-Za-z][_A-Za-z0-9]*|[{}()\[\]:@]', re.DOTALL
)
_KEYWORDS = {"query", "mutation", "subscription", "fragment"}
_DEPTHS = {"{": 1, "}": -1}
_BRACKETS = {"(": 1, "[": 1, ")": -1, "]": -1}


@dataclass
class Operation:
    """An operation of a document; a `...` at its root may stand for any fields, so then they are not `known`."""

    kind: str
    name: str = ""
    fields: list[str] = field(default_factory=list)
    known: bool = True

    @property
    def takes_idempotency_key(self) -> bool:
        """Return whether the server executes the operation once for each Idempotency-Key."""
        is_single = self.kind == "mutation" and self.known and len(self.fields) == 1
        return is_single and self.fields[0] not in WITHOUT_IDEMPOTENCY_KEY


def find_operation(document: str, name: str | None = None) -> Operation | None:
    """Return the operation that the server would execute, None if there is none of this name."""
    operations = [operation for operation in _definitions(document) if operation.kind != "fragment"]
    return next((operation for operation in operations if name is None or operation.name == name), None)


def _definitions(document: str) -> list[Operation]:
    tokens = [token for token in _TOKEN.findall(document) if token[0] not in '"#']
    definitions: list[Operation] = []
    braces = brackets = 0
    begun = False  # a keyword was read, its selection set was not
    for previous, token, following in zip(["", *tokens], tokens, [*tokens[1:], ""], strict=False):
        if token in _BRACKETS:
            brackets += _BRACKETS[token]
        elif token in _DEPTHS:
            if token == "{" and not braces and not brackets:
                if not begun:
                    definitions.append(Operation("query"))
                begun = False
            braces += _DEPTHS[token] if not brackets else 0
        elif brackets or previous == "@":
            continue
        elif not braces:
            if not begun and token in _KEYWORDS:
                definitions.append(Operation(token))
                begun = True
            elif previous in _KEYWORDS and begun and not definitions[-1].name:
                definitions[-1].name = token
        elif braces == 1:
            _read_root(definitions[-1], previous, token, following)
    return definitions


def _read_root(operation: Operation, previous: str, token: str, following: str) -> None:
    if token == "...":
        operation.known = False
    elif token not in ":@" and following != ":" and previous != "...":
        operation.fields.append(token)
