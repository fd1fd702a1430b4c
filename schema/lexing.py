"""Split documents into tokens by regular expressions: graphql-core's lexer looks at each character in Python.

What the expressions don't cover (strings with escapes, fractions, everything malformed) is left to that lexer, which
decides and explains. `tests/graphql/test_hostile_documents.py` holds the two side by side.
"""

from __future__ import annotations

import re

from graphql import DocumentNode, Lexer, Source, Token, TokenKind
from graphql.language.block_string import dedent_block_string_lines
from graphql.language.parser import Parser

_LINE = re.compile(r"\r\n|\r|\n")
_WORD = re.compile(
    r"([ \t\n\r,\ufeff]*)(?:"
    r"([A-Za-z_][A-Za-z0-9_]*)"
    r"|(\.\.\.|[!$&():=@\[\]{|}])"
    r'|"((?!"")[^"\\\n\r\ud800-\udfff]*)"'
    r"|(-?(?:0|[1-9][0-9]*))(?![0-9.A-Za-z_])"
    r"|#([^\n\r\ud800-\udfff]*)"
    r")"
)
_BLOCK = re.compile(r'"""([^"\\\ud800-\udfff]*+(?:"(?!"")[^"\\\ud800-\udfff]*+)*+)"""')
_IGNORED = re.compile(r"[ \t\n\r,\ufeff]*")
_NAME, _MARK, _STRING, _INT, _COMMENT = range(2, 7)
_KIND_OF = {
    "...": TokenKind.SPREAD,
    "!": TokenKind.BANG,
    "$": TokenKind.DOLLAR,
    "&": TokenKind.AMP,
    "(": TokenKind.PAREN_L,
    ")": TokenKind.PAREN_R,
    ":": TokenKind.COLON,
    "=": TokenKind.EQUALS,
    "@": TokenKind.AT,
    "[": TokenKind.BRACKET_L,
    "]": TokenKind.BRACKET_R,
    "{": TokenKind.BRACE_L,
    "|": TokenKind.PIPE,
    "}": TokenKind.BRACE_R,
}
_KIND_OF_GROUP = {_NAME: TokenKind.NAME, _STRING: TokenKind.STRING, _INT: TokenKind.INT}
_KIND_OF_GROUP[_COMMENT] = TokenKind.COMMENT


class QuickLexer(Lexer):
    """A lexer of the same tokens."""

    def read_next_token(self, start: int) -> Token:
        """Give the token at or behind a place."""
        body = self.source.body
        found = _WORD.match(body, start)
        if found is None:
            return super().read_next_token(self._behind_ignored(body, start))
        begin = found.end(1)
        if begin > start:
            self._note_lines(body, start, begin)
        group = found.lastindex
        assert group is not None
        value = found[group]
        column = 1 + begin - self.line_start
        if group == _MARK:
            return Token(_KIND_OF[value], begin, found.end(), self.line, column)
        return Token(_KIND_OF_GROUP[group], begin, found.end(), self.line, column, value)

    def read_block_string(self, start: int) -> Token:
        """Give the block string that begins at a place."""
        found = _BLOCK.match(self.source.body, start)
        if found is None:
            return super().read_block_string(start)
        value = "\n".join(dedent_block_string_lines(_LINE.split(found[1])))
        token = self.create_token(TokenKind.BLOCK_STRING, start, found.end(), value)
        self._note_lines(self.source.body, start, found.end())
        return token

    def _behind_ignored(self, body: str, start: int) -> int:
        found = _IGNORED.match(body, start)
        assert found is not None
        self._note_lines(body, start, found.end())
        return found.end()

    def _note_lines(self, body: str, start: int, end: int) -> None:
        """Count the lines that end in a stretch of ignored characters."""
        if end - start == 1 and body[start] not in "\n\r":
            return
        last = None
        for last in _LINE.finditer(body, start, end):  # noqa: B007
            self.line += 1
        if last is not None:
            self.line_start = last.end()


def parse_quickly(text: str, *, max_tokens: int | None = None) -> DocumentNode:
    """Parse a text as `graphql.parse` does. Raises `GraphQLSyntaxError`."""
    source = Source(text)
    return Parser(source, max_tokens=max_tokens, lexer=QuickLexer(source)).parse_document()
