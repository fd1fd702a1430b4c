"""Scan a GraphQL document for what the query limits need: fields, fragments and list sizes, in about a millisecond.

The limits are checked on the result before the text is parsed: graphql-core's parser takes ten microseconds per token and its validation
thirty. The scanner skips what no limit needs (other arguments, directives, variable types) and reports no errors: for invalid syntax
it returns None and the parser reports the error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

SIZE_ARGUMENTS = ("limit", "first", "last", "per_page")
# The maximum nesting of braces; graphql-core's parser itself fails at about 200.
_MAX_NESTING = 250
_TOKEN = re.compile(
    r"[ \t\n\r,\ufeff]*+(?:"
    r"([A-Za-z_][A-Za-z0-9_]*)"
    r"|(\.\.\.|[!$&():=@\[\]{|}])"
    r'|("""[^"\\]*+(?:(?:\\"""|\\(?!""")|"(?!""))[^"\\]*+)*+""")'
    r'|("[^"\\\n\r]*+(?:\\.[^"\\\n\r]*+)*+")'
    r"|(-?[0-9][0-9A-Za-z_.+]*(?:(?<=[eE])-[0-9]+)?)"
    r"|(\#[^\n\r]*)"
    r"|($(?![\r\n])))"
)
_NAME, _PUNCTUATOR, _BLOCK, _STRING, _NUMBER, _COMMENT = range(1, 7)
_OPERATION_TYPES = ("query", "mutation", "subscription")


class TooManyTokens(Exception):
    """The document has more tokens than allowed."""


@dataclass(frozen=True, slots=True)
class SizeArgument:
    """The value of a list size argument: a number, a variable name, or neither."""

    number: int | None = None
    variable: str | None = None


@dataclass(frozen=True, slots=True)
class ScannedField:
    """A field: name, alias (empty if none), size arguments and selections."""

    name: str
    alias: str
    sizes: dict[str, SizeArgument]
    selections: ScannedSelections | None

    @property
    def is_alias(self) -> bool:
        """Whether the field has an alias, even one equal to its name."""
        return self.alias != ""


@dataclass(frozen=True, slots=True)
class ScannedSpread:
    """A fragment spread and its position in the text."""

    name: str
    position: int


@dataclass(frozen=True, slots=True)
class ScannedInlineFragment:
    """An inline fragment; `condition` is its type condition, "" for none."""

    condition: str
    selections: ScannedSelections


ScannedSelections = list[ScannedField | ScannedSpread | ScannedInlineFragment]


@dataclass(frozen=True, slots=True)
class ScannedFragment:
    """A fragment definition."""

    condition: str
    selections: ScannedSelections


@dataclass(frozen=True, slots=True)
class ScannedOperation:
    """An operation with the integer defaults of its variables."""

    kind: str
    selections: ScannedSelections
    defaults: dict[str, int]


@dataclass(slots=True)
class ScannedDocument:
    """The operations and fragments of a document; `size` is the number of tokens."""

    operations: list[tuple[str | None, ScannedOperation]] = field(default_factory=list)
    fragments: dict[str, ScannedFragment] = field(default_factory=dict)
    size: int = 0

    def operation(self, name: str | None) -> ScannedOperation | None:
        """Return the operation by name, or the only operation without a name."""
        if name:
            return next((operation for key, operation in self.operations if key == name), None)
        return self.operations[0][1] if len(self.operations) == 1 else None


class _InvalidDocument(Exception):
    """The text is not an executable document."""


def scan_document(text: str, *, max_tokens: int | None) -> ScannedDocument | None:
    """Return the structure of a document, or None for invalid syntax. Raises `TooManyTokens`; comments count, as in the parser."""
    tokens = _tokens(text, max_tokens)
    if tokens is None:
        return None
    try:
        return _Scanner(*tokens).document()
    except _InvalidDocument:
        return None


def _tokens(text: str, max_tokens: int | None) -> tuple[list[str], list[int]] | None:
    """Split a text into tokens and their positions; every string becomes the token `"`."""
    tokens: list[str] = []
    positions: list[int] = []
    limit = len(text) if max_tokens is None else max_tokens
    count = 0
    advance = _TOKEN.scanner(text).match  # type: ignore[attr-defined]  # not in typeshed
    while True:
        match = advance()
        if match is None:
            return None
        group = match.lastindex
        if group > _COMMENT:
            break
        count += 1
        if count > limit:
            raise TooManyTokens
        if group == _COMMENT:
            continue
        tokens.append('"' if group in (_BLOCK, _STRING) else match[group])
        positions.append(match.start(group))
    tokens.append("")
    return tokens, positions


class _Scanner:
    """Read the structure of a list of tokens; the last token is ""."""

    def __init__(self, tokens: list[str], positions: list[int]) -> None:
        self._tokens = tokens
        self._positions = positions
        self._at = 0
        self._depth = 0

    def document(self) -> ScannedDocument:
        document = ScannedDocument(size=len(self._tokens))
        tokens = self._tokens
        while token := tokens[self._at]:
            if token == "{":
                document.operations.append((None, ScannedOperation("query", self._selections(), {})))
            elif token in _OPERATION_TYPES:
                document.operations.append(self._operation(token))
            elif token == "fragment":
                self._fragment(document)
            elif token == '"':
                self._at += 1  # a description
            else:
                raise _InvalidDocument
        return document

    def _operation(self, kind: str) -> tuple[str | None, ScannedOperation]:
        self._at += 1
        name = None
        if _is_name(self._tokens[self._at]):
            name = self._tokens[self._at]
            self._at += 1
        defaults = self._defaults() if self._tokens[self._at] == "(" else {}
        self._skip_directives()
        return name, ScannedOperation(kind, self._selections(), defaults)

    def _fragment(self, document: ScannedDocument) -> None:
        tokens, at = self._tokens, self._at
        if not (_is_name(tokens[at + 1]) and tokens[at + 2] == "on" and _is_name(tokens[at + 3])):
            raise _InvalidDocument
        self._at = at + 4
        self._skip_directives()
        document.fragments[tokens[at + 1]] = ScannedFragment(tokens[at + 3], self._selections())

    def _selections(self) -> ScannedSelections:
        tokens = self._tokens
        self._depth += 1
        if tokens[self._at] != "{" or self._depth > _MAX_NESTING:
            raise _InvalidDocument
        self._at += 1
        selections: ScannedSelections = []
        while (token := tokens[self._at]) != "}":
            if token == "...":
                selections.append(self._spread())
            elif _is_name(token):
                selections.append(self._field())
            else:
                raise _InvalidDocument
        self._at += 1
        self._depth -= 1
        return selections

    def _field(self) -> ScannedField:
        tokens = self._tokens
        name, alias = tokens[self._at], ""
        self._at += 1
        if tokens[self._at] == ":":
            alias, name = name, tokens[self._at + 1]
            if not _is_name(name):
                raise _InvalidDocument
            self._at += 2
        sizes = self._sizes() if tokens[self._at] == "(" else _NO_SIZES
        self._skip_directives()
        return ScannedField(name, alias, sizes, self._selections() if tokens[self._at] == "{" else None)

    def _spread(self) -> ScannedSpread | ScannedInlineFragment:
        tokens, position = self._tokens, self._positions[self._at]
        self._at += 1
        token = tokens[self._at]
        if token != "on" and _is_name(token):
            self._at += 1
            self._skip_directives()
            return ScannedSpread(token, position)
        condition = ""
        if token == "on":
            condition = tokens[self._at + 1]
            if not _is_name(condition):
                raise _InvalidDocument
            self._at += 2
        self._skip_directives()
        return ScannedInlineFragment(condition, self._selections())

    def _sizes(self) -> dict[str, SizeArgument]:
        """Read the size arguments and skip the argument list."""
        tokens, start = self._tokens, self._at
        self._skip_balanced()
        sizes: dict[str, SizeArgument] = {}
        depth = 0
        for at in range(start, self._at):
            token = tokens[at]
            if token in _OPENING:
                depth += 1
            elif token in _CLOSING:
                depth -= 1
            elif depth == 1 and token in SIZE_ARGUMENTS and tokens[at + 1] == ":" and tokens[at - 1] != "$":
                value = tokens[at + 2]
                sizes[token] = SizeArgument(_number(value), tokens[at + 3] if value == "$" else None)
        return sizes or _NO_SIZES

    def _defaults(self) -> dict[str, int]:
        """Read the integer defaults of variables and skip the variable definitions."""
        tokens, start = self._tokens, self._at
        self._skip_balanced()
        defaults: dict[str, int] = {}
        depth, name = 0, ""
        for at in range(start, self._at):
            token = tokens[at]
            if token in _OPENING:
                depth += 1
            elif token in _CLOSING:
                depth -= 1
            elif depth == 1 and token == "$":
                name = tokens[at + 1]
            elif depth == 1 and token == "=":
                number = _number(tokens[at + 1])
                if number is not None:
                    defaults[name] = number
        return defaults

    def _skip_directives(self) -> None:
        tokens = self._tokens
        while tokens[self._at] == "@":
            if not _is_name(tokens[self._at + 1]):
                raise _InvalidDocument
            self._at += 2
            if tokens[self._at] == "(":
                self._skip_balanced()

    def _skip_balanced(self) -> None:
        """Skip to after the bracket that closes the one at the current position."""
        tokens, depth = self._tokens, 0
        while token := tokens[self._at]:
            self._at += 1
            if token in _OPENING:
                depth += 1
            elif token in _CLOSING:
                depth -= 1
                if depth == 0:
                    return
        raise _InvalidDocument


_NO_SIZES: dict[str, SizeArgument] = {}
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


def _is_name(token: str) -> bool:
    return token.isidentifier()  # tokens are ASCII: names, punctuators, numbers


def _number(token: str) -> int | None:
    """Parse an integer; one with more digits than any size counts as infinite."""
    if token.lstrip("-").isdecimal():
        return int(token) if len(token) < 20 else (0 if token.startswith("-") else 10**20)
    return None
