"""Normalise, fold, split and check text, the same way here and in SQL.

Search ignores case and accents. The folding is done twice: in PostgreSQL when a row is stored and here when somebody
searches, and the two must agree to the letter, or what is stored is never found. So the rule is data, and `fold_sql` writes it:

    translate(regexp_replace(lower(normalize(x, NFKD) COLLATE "C"), [MARKS]+, ''), FOLD_FROM, FOLD_TO)

* NFKD takes every accented letter apart (`ç` is `c` and a cedilla), and makes `º`, `²`, `ﬁ` and full-width letters plain. One
  range of marks then serves all letters; with NFC each accented letter would need its own entry in the table.
* `COLLATE "C"` lower-cases A-Z and nothing else, whatever locale the database was made with.
* `translate` maps what NFKD leaves whole: `ø`, `ß` and the like, Greek and Cyrillic capitals.

Whoever changes MARKS, FOLD_FROM, FOLD_TO or WORD_BREAKS writes a migration that makes the SQL functions and what they
generated anew.
"""

from __future__ import annotations

import re
import unicodedata

MAX_SEARCH_TERMS = 16
# PostgreSQL refuses a lexeme over 2,046 bytes in a query (SQLSTATE 54000). A shortened prefix still finds the word.
MAX_TERM_LENGTH = 64
MAX_SLUG_LENGTH = 120

# Parts of character classes, in the notation that Python's and PostgreSQL's regular expressions share. What ends a word:
# all that is not a letter or digit in ASCII and Latin-1, punctuation, symbols from currency to arrows, CJK punctuation, emoji.
MARKS = r"\u0300-\u036f"
WORD_BREAKS = (
    r"\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00bf\u00d7\u00f7\u2000-\u2bff\u3000-\u303f"
    r"\ufffc-\uffff\U0001f000-\U0001faff"
)

_GREEK_CAPITALS = "".join(map(chr, (*range(0x0391, 0x03A2), *range(0x03A3, 0x03AA))))
_CYRILLIC_CAPITALS = "".join(map(chr, (*range(0x0400, 0x0430), 0x0490)))
FOLD_FROM = "ßẞæÆœŒøØđĐðÐħĦıłŁþÞŋŊŧŦς" + _GREEK_CAPITALS + _CYRILLIC_CAPITALS
FOLD_TO = "ssaaooooddddhhillttnntt\u03c3" + (_GREEK_CAPITALS + _CYRILLIC_CAPITALS).lower()

_ASCII_LOWER = {capital: capital + 32 for capital in range(ord("A"), ord("Z") + 1)}
_FOLDING = _ASCII_LOWER | str.maketrans(FOLD_FROM, FOLD_TO)
_MARKS = re.compile(f"[{MARKS}]+")
# NUL and lone surrogates too, which never reach the database's side.
_WORD_BREAKS = re.compile(rf"[\x00\ud800-\udfff{WORD_BREAKS}]+")
_NOT_IN_SLUG = re.compile(r"[^a-z0-9]+")
_FORBIDDEN = re.compile("[\x00\ud800-\udfff]")


class Malformed(ValueError):
    """Say that a value has not the form its name promises; the message tells what was given and what was expected.

    One class for all parsing functions of the kernel, so that a caller needs one `except` to name the field.
    """


def nfc(text: str) -> str:
    """Compose the text (Unicode NFC), the form in which all text is stored (decisions section 1)."""
    return unicodedata.normalize("NFC", text)


def fold(text: str) -> str:
    """Take case and accents away, as the SQL function made from `fold_sql` does: `Calçado Nº 1` is `calcado no 1`."""
    return _MARKS.sub("", unicodedata.normalize("NFKD", text)).translate(_FOLDING)


def fold_sql(expression: str) -> str:
    """Write the SQL expression that folds `expression` (trusted SQL, such as `$1`) exactly as `fold` does.

    It is immutable, so it may stand in an index or a generated column, and pure ASCII, so that no editor or driver changes it.
    """
    plain = f"""lower(normalize({expression}, NFKD) COLLATE "C")"""
    unmarked = f"regexp_replace({plain}, '[{MARKS}]+', '', 'g')"
    return f"translate({unmarked}, {_sql_literal(FOLD_FROM)}, {_sql_literal(FOLD_TO)})"


def words_sql(expression: str) -> str:
    """Write the SQL expression for `to_tsvector('simple', …)`: folded, HTML tags and word breaks replaced by spaces.

    Without it PostgreSQL's parser reads `a/b` as a file, `tenis-38` as a negative number and `kit.com` as a host, none of
    which the terms of `search_terms` would find.
    """
    without_tags = f"regexp_replace({expression}, '</?[A-Za-z][^>]*>', ' ', 'g')"
    return f"regexp_replace({fold_sql(without_tags)}, '[{WORD_BREAKS}]+', ' ', 'g')"


def search_terms(query: str) -> list[str]:
    """Split what somebody searches for into at most 16 different folded words, in order."""
    words = (word[:MAX_TERM_LENGTH] for word in _WORD_BREAKS.split(fold(query)) if word)
    return list(dict.fromkeys(words))[:MAX_SEARCH_TERMS]


def prefix_tsquery(query: str) -> str | None:
    """Write the text for `to_tsquery('simple', …)` that wants every word of the query as a prefix; None without words.

    `Calç pret` is `'calc':* & 'pret':*`. Quotes and backslashes break words, so no term can end its quotes.
    """
    return " & ".join(f"'{term}':*" for term in search_terms(query)) or None


def slug(text: str) -> str:
    """Make the part of an address that names something: `Tênis (Azul)` is `tenis-azul`; empty when no a-z or 0-9 is left.

    At most 120 characters, cut between words where there is a place to cut.
    """
    whole = _NOT_IN_SLUG.sub("-", fold(text)).strip("-")
    if len(whole) <= MAX_SLUG_LENGTH:
        return whole
    cut = whole[: MAX_SLUG_LENGTH + 1].rpartition("-")[0]
    return cut or whole[:MAX_SLUG_LENGTH]


def has_forbidden_characters(text: str) -> bool:
    """Tell whether the text holds NUL or a lone surrogate, neither of which PostgreSQL can store."""
    return _FORBIDDEN.search(text) is not None


def shown(value: object) -> str:
    """Write a refused value for an error message, cut after 60 characters."""
    written = repr(value[:60]) if isinstance(value, str) else repr(value)
    return written if len(written) <= 64 else f"{written[:60]}…"


def _sql_literal(text: str) -> str:
    """Write the text as a PostgreSQL string literal in ASCII (`U&'\\00E7'`); the text lies within the basic plane."""
    return "U&'" + "".join(f"\\{ord(character):04X}" for character in text) + "'"
