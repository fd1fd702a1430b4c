"""Read the outline of a document: which fields, fragments and sizes of lists it holds, found in a millisecond whatever it is.

Limits are checked on this, before the text is parsed: graphql-core's parser needs ten microseconds a token, and its validation thirty.
The outline leaves out what no limit is about (arguments but sizes, directives, types of variables), and doesn't say what is wrong with
a text: for one that is no document there is none, and the parser tells why.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

SIZE_ARGUMENTS = ("limit", "first", "per_page")
# The nesting of braces up to which a text is read; graphql-core's parser gives up at about 200 itself.
_DEEPEST = 250
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
_NAME, _MARK, _BLOCK, _STRING, _NUMBER, _COMMENT = range(1, 7)
_DEFINED_BY_NAME = ("query", "mutation", "subscription")


class TooManyTokens(Exception):
    """Say that the text has more tokens than were allowed."""


@dataclass(frozen=True, slots=True)
class Given:
    """The size a list was given: a number, the name of a variable, or neither."""

    number: int | None = None
    variable: str | None = None


@dataclass(frozen=True, slots=True)
class OutlineField:
    """A field: its name, the key of the answer, its sizes and what is asked below it."""

    name: str
    key: str
    sizes: dict[str, Given]
    below: Selections | None

    @property
    def is_alias(self) -> bool:
        """Tell whether the document gives the field another name; the same name again is one too."""
        return self.key != ""


@dataclass(frozen=True, slots=True)
class Spread:
    """The use of a fragment, and where it stands in the text."""

    name: str
    position: int


@dataclass(frozen=True, slots=True)
class Inline:
    """A fragment written in place; `condition` names its type, "" for that around it."""

    condition: str
    below: Selections


Selections = list[OutlineField | Spread | Inline]


@dataclass(frozen=True, slots=True)
class Fragment:
    """A named fragment."""

    condition: str
    below: Selections


@dataclass(frozen=True, slots=True)
class OutlineOperation:
    """An operation, with the defaults of those variables that are whole numbers."""

    kind: str
    below: Selections
    defaults: dict[str, int]


@dataclass(slots=True)
class Outline:
    """What a document holds, as far as limits are concerned; `size` counts its tokens."""

    operations: list[tuple[str | None, OutlineOperation]] = field(default_factory=list)
    fragments: dict[str, Fragment] = field(default_factory=dict)
    size: int = 0

    def operation(self, name: str | None) -> OutlineOperation | None:
        """Give the operation of that name, or the only one when no name is given."""
        if name:
            return next((operation for named, operation in self.operations if named == name), None)
        return self.operations[0][1] if len(self.operations) == 1 else None


class _NoDocument(Exception):
    """Say that the text is no document."""


def outline_of(text: str, *, max_tokens: int | None) -> Outline | None:
    """Give the outline of a text, or None for one that is no document. Raises `TooManyTokens`; comments count, as for the parser."""
    tokens = _tokens(text, max_tokens)
    if tokens is None:
        return None
    try:
        return _Reader(*tokens).document()
    except _NoDocument:
        return None


def _tokens(text: str, max_tokens: int | None) -> tuple[list[str], list[int]] | None:
    """Split a text into tokens and their places; strings become `"`, which no other token is."""
    tokens: list[str] = []
    places: list[int] = []
    most = len(text) if max_tokens is None else max_tokens
    count = 0
    advance = _TOKEN.scanner(text).match  # type: ignore[attr-defined]  # not in typeshed
    while True:
        found = advance()
        if found is None:
            return None
        kind = found.lastindex
        if kind > _COMMENT:
            break
        count += 1
        if count > most:
            raise TooManyTokens
        if kind == _COMMENT:
            continue
        tokens.append('"' if kind in (_BLOCK, _STRING) else found[kind])
        places.append(found.start(kind))
    tokens.append("")
    return tokens, places


class _Reader:
    """Read the structure of a list of tokens; the last is ""."""

    def __init__(self, tokens: list[str], places: list[int]) -> None:
        self._tokens = tokens
        self._places = places
        self._at = 0
        self._depth = 0

    def document(self) -> Outline:
        outline = Outline(size=len(self._tokens))
        tokens = self._tokens
        while token := tokens[self._at]:
            if token == "{":
                outline.operations.append((None, OutlineOperation("query", self._selections(), {})))
            elif token in _DEFINED_BY_NAME:
                outline.operations.append(self._operation(token))
            elif token == "fragment":
                self._fragment(outline)
            elif token == '"':
                self._at += 1  # a description
            else:
                raise _NoDocument
        return outline

    def _operation(self, kind: str) -> tuple[str | None, OutlineOperation]:
        self._at += 1
        name = None
        if _is_name(self._tokens[self._at]):
            name = self._tokens[self._at]
            self._at += 1
        defaults = self._defaults() if self._tokens[self._at] == "(" else {}
        self._skip_directives()
        return name, OutlineOperation(kind, self._selections(), defaults)

    def _fragment(self, outline: Outline) -> None:
        tokens, at = self._tokens, self._at
        if not (_is_name(tokens[at + 1]) and tokens[at + 2] == "on" and _is_name(tokens[at + 3])):
            raise _NoDocument
        self._at = at + 4
        self._skip_directives()
        outline.fragments[tokens[at + 1]] = Fragment(tokens[at + 3], self._selections())

    def _selections(self) -> Selections:
        tokens = self._tokens
        self._depth += 1
        if tokens[self._at] != "{" or self._depth > _DEEPEST:
            raise _NoDocument
        self._at += 1
        found: Selections = []
        while (token := tokens[self._at]) != "}":
            if token == "...":
                found.append(self._spread())
            elif _is_name(token):
                found.append(self._field())
            else:
                raise _NoDocument
        self._at += 1
        self._depth -= 1
        return found

    def _field(self) -> OutlineField:
        tokens = self._tokens
        name, key = tokens[self._at], ""
        self._at += 1
        if tokens[self._at] == ":":
            key, name = name, tokens[self._at + 1]
            if not _is_name(name):
                raise _NoDocument
            self._at += 2
        sizes = self._sizes() if tokens[self._at] == "(" else _NO_SIZES
        self._skip_directives()
        return OutlineField(name, key, sizes, self._selections() if tokens[self._at] == "{" else None)

    def _spread(self) -> Spread | Inline:
        tokens, place = self._tokens, self._places[self._at]
        self._at += 1
        token = tokens[self._at]
        if token != "on" and _is_name(token):
            self._at += 1
            self._skip_directives()
            return Spread(token, place)
        condition = ""
        if token == "on":
            condition = tokens[self._at + 1]
            if not _is_name(condition):
                raise _NoDocument
            self._at += 2
        self._skip_directives()
        return Inline(condition, self._selections())

    def _sizes(self) -> dict[str, Given]:
        """Read the sizes among the arguments, and stop behind them."""
        tokens, start = self._tokens, self._at
        self._skip_balanced()
        sizes: dict[str, Given] = {}
        depth = 0
        for at in range(start, self._at):
            token = tokens[at]
            if token in _OPENING:
                depth += 1
            elif token in _CLOSING:
                depth -= 1
            elif depth == 1 and token in SIZE_ARGUMENTS and tokens[at + 1] == ":" and tokens[at - 1] != "$":
                value = tokens[at + 2]
                sizes[token] = Given(_number(value), tokens[at + 3] if value == "$" else None)
        return sizes or _NO_SIZES

    def _defaults(self) -> dict[str, int]:
        """Read the defaults of variables, and stop behind their definitions."""
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
                raise _NoDocument
            self._at += 2
            if tokens[self._at] == "(":
                self._skip_balanced()

    def _skip_balanced(self) -> None:
        """Go behind the bracket that closes the one that stands here."""
        tokens, depth = self._tokens, 0
        while token := tokens[self._at]:
            self._at += 1
            if token in _OPENING:
                depth += 1
            elif token in _CLOSING:
                depth -= 1
                if depth == 0:
                    return
        raise _NoDocument


_NO_SIZES: dict[str, Given] = {}
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


def _is_name(token: str) -> bool:
    return token.isidentifier()  # tokens are ASCII: names, marks, numbers


def _number(token: str) -> int | None:
    """Give a whole number; one of more digits than any size has is as good as infinite."""
    if token.lstrip("-").isdecimal():
        return int(token) if len(token) < 20 else (0 if token.startswith("-") else 10**20)
    return None
