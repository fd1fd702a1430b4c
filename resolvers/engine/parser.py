"""Parse GraphQL documents with a lexer of regular expressions, faster than graphql-core's, which examines each character in Python.

Tokens not covered by the expressions (strings with escapes, floats, syntax errors) fall back to graphql-core's lexer.
`tests/graphql/test_hostile_documents.py` compares the two.
"""

from __future__ import annotations

import re

from graphql import DocumentNode, Lexer, Source, Token, TokenKind
from graphql.language.block_string import dedent_block_string_lines
from graphql.language.parser import Parser

_LINE = re.compile(r"\r\n|\r|\n")
_TOKEN = re.compile(
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
_NAME, _PUNCTUATOR, _STRING, _INT, _COMMENT = range(2, 7)
_PUNCTUATOR_KINDS = {
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
_GROUP_KINDS = {_NAME: TokenKind.NAME, _STRING: TokenKind.STRING, _INT: TokenKind.INT}
_GROUP_KINDS[_COMMENT] = TokenKind.COMMENT


class RegexLexer(Lexer):
    """A lexer that produces the same tokens as graphql-core's."""

    def read_next_token(self, start: int) -> Token:
        """Return the token at or after a position."""
        body = self.source.body
        match = _TOKEN.match(body, start)
        if match is None:
            return super().read_next_token(self._skip_ignored(body, start))
        token_start = match.end(1)
        if token_start > start:
            self._count_lines(body, start, token_start)
        group = match.lastindex
        assert group is not None
        value = match[group]
        column = 1 + token_start - self.line_start
        if group == _PUNCTUATOR:
            return Token(_PUNCTUATOR_KINDS[value], token_start, match.end(), self.line, column)
        return Token(_GROUP_KINDS[group], token_start, match.end(), self.line, column, value)

    def read_block_string(self, start: int) -> Token:
        """Return the block string that starts at a position."""
        match = _BLOCK.match(self.source.body, start)
        if match is None:
            return super().read_block_string(start)
        value = "\n".join(dedent_block_string_lines(_LINE.split(match[1])))
        token = self.create_token(TokenKind.BLOCK_STRING, start, match.end(), value)
        self._count_lines(self.source.body, start, match.end())
        return token

    def _skip_ignored(self, body: str, start: int) -> int:
        match = _IGNORED.match(body, start)
        assert match is not None
        self._count_lines(body, start, match.end())
        return match.end()

    def _count_lines(self, body: str, start: int, end: int) -> None:
        """Count the line breaks between two positions."""
        if end - start == 1 and body[start] not in "\n\r":
            return
        last = None
        for last in _LINE.finditer(body, start, end):  # noqa: B007
            self.line += 1
        if last is not None:
            self.line_start = last.end()


def parse_document(text: str) -> DocumentNode:
    """Parse a document like `graphql.parse`. Raises `GraphQLSyntaxError`."""
    source = Source(text)
    return Parser(source, lexer=RegexLexer(source)).parse_document()
