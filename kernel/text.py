"""Normalize, fold, tokenize and check text, in Python and SQL alike.

Search ignores case and accents. PostgreSQL folds what a row stores, Python folds the search query, and both must agree exactly, or a
stored word is never found. So the rule is data, and the function `vitrine_fold` of the database is made of it:

    vitrine_fold_characters(regexp_replace(lower(normalize(x, NFKD) COLLATE "C"), [MARKS]+, ''))

where `vitrine_fold_characters` is `translate(x, FOLD_FROM, FOLD_TO)` of text with one of these characters.

* NFKD decomposes accented letters (`ç` is `c` and a cedilla) and replaces `º`, `²`, `ﬁ` and full-width letters by plain ones. One
  range of marks then covers all letters; with NFC each accented letter would need its own entry.
* `COLLATE "C"` lower-cases only A-Z, whatever the database's locale.
* `translate` maps what NFKD leaves whole: `ø`, `ß` and the like, Greek and Cyrillic capitals.

A change of MARKS, FOLD_FROM, FOLD_TO or WORD_BREAKS needs a migration that recreates the SQL functions and what they generated.
"""

from __future__ import annotations

import re
import unicodedata

MAX_SEARCH_TERMS = 16
# PostgreSQL rejects a lexeme over 2,046 bytes in a query (SQLSTATE 54000). A truncated prefix still matches the word.
MAX_TERM_LENGTH = 64
MAX_SLUG_LENGTH = 120
# The maximum length of a text by which a list is filtered.
MAX_FILTER_LENGTH = 200
# The maximum number of values of a filter, any of which may match.
MAX_FILTER_VALUES = 1_000

# The characters RFC 3986 allows in a URL, non-ASCII ones percent-encoded. No backslash, which some parsers treat as a slash, no whitespace,
# no control characters.
URL_CHARACTERS = re.compile(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]+")

# Character classes in the notation that Python's and PostgreSQL's regular expressions share. A word ends at whatever is not a letter
# or digit in ASCII and Latin-1, at punctuation, symbols from currency to arrows, CJK punctuation and emoji.
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
# Also NUL and lone surrogates, which never reach the database.
_WORD_BREAKS = re.compile(rf"[\x00\ud800-\udfff{WORD_BREAKS}]+")

# Normalization sorts the marks of each letter, in Python and in PostgreSQL, in quadratic time. No language uses more than a few; UAX #15
# (Stream-Safe Text Format) allows 30.
MAX_MARKS = 30
_SAMPLE_STEP = (MAX_MARKS + 1) // 4  # at least three of more marks are sampled
# All of the basic plane that are marks or decompose to one, and the blocks of the others, which hold a few letters too.
_BASIC_MARKS = "".join(
    [chr(code) for code in range(0x300, 0xFE30) if unicodedata.combining(chr(code))]
    + list("\u0f73\u0f75\u0f81\uff9e\uff9f")
)
_ANY_MARK = (
    f"[{_BASIC_MARKS}\U000101fd-\U00011fff\U00016af0-\U00016fff\U0001bc9e\U0001d165-\U0001d244\U0001da00-\U0001e94a]"
)
_SAMPLED_MARKS = re.compile(_ANY_MARK + "{3}")
_MARKS_IN_SUCCESSION = re.compile(_ANY_MARK + "+")
# What belongs together in a search query: dimensions, a number and the unit after it, a number next to letters.
_DIMENSIONS = re.compile(r"(?<!\S)[0-9]+(?: x [0-9]+)+(?!\S)")
_UNITS = "|".join(
    (
        "v|w|kw|kwh|va|kva|ah|mah|hz|khz|mhz|ghz|btu|btus|rpm|psi|db|hp|cv",
        "mm|cm|m|km|m2|m3|pol|x|g|mg|kg|t|l|ml|lt|kb|mb|gb|tb|mp|k|un|pcs",
    )
)
_MEASURE = re.compile(rf"(?<!\S)([0-9]+) ({_UNITS})(?!\S)")
_NUMBER = re.compile(r"(?:([a-z]+)([0-9]+)|([0-9]+)([a-z]+)|([0-9]+)(x)([0-9]+))\Z")
_NOT_IN_SLUG = re.compile(r"[^a-z0-9]+")


NFC_RATIO = 4
"""How many characters NFC composes into one at most: a text so many times as long as its limit needn't be composed to be refused."""


class InvalidValue(ValueError):
    """Report a value without the required form. All parsers of the kernel raise it, so that a caller needs one `except`."""


def nfc(text: str) -> str:
    """Compose the text (Unicode NFC), the form in which all text is stored (docs/reference/shared.md#text)."""
    return unicodedata.normalize("NFC", text)


def fold(text: str) -> str:
    """Remove case and accents, exactly as `vitrine_fold`: `Calçado Nº 1` is `calcado no 1`."""
    return _MARKS.sub("", unicodedata.normalize("NFKD", text)).translate(_FOLDING)


def lower_ascii(text: str) -> str:
    """Lower the case of A-Z alone, as `lower(x COLLATE "C")`."""
    return text.translate(_ASCII_LOWER)


def plain_capitals(text: str, longest: int) -> str:
    """Return a text in capital letters of ASCII, digits and single blanks."""
    folded = unicodedata.normalize("NFKD", text).upper()
    kept = "".join(
        character for character in folded if character.isascii() and (character.isalnum() or character == " ")
    )
    return " ".join(kept.split())[:longest].rstrip()


def search_terms(query: str) -> list[str]:
    """Split a search query into at most 16 distinct folded words, in order."""
    words = (word[:MAX_TERM_LENGTH] for word in _WORD_BREAKS.split(fold(query)) if word)
    return list(dict.fromkeys(words))[:MAX_SEARCH_TERMS]


def compound_words(query: str) -> list[str]:
    """Split a search query into at most 16 distinct folded words, the parts of each joined by hyphens.

    `Caneca CAN/38` is `caneca`, `can-38`. A number belongs to its unit or name, with a space or without: `220 V` and `220V` are `220-v`,
    `iPhone15` is `iphone-15`, `10 x 10` is `10-x-10`.
    """
    words = (
        "-".join([part[:MAX_TERM_LENGTH] for part in _WORD_BREAKS.split(word) if part]) for word in fold(query).split()
    )
    joined = _DIMENSIONS.sub(lambda match: match[0].replace(" ", "-"), " ".join(filter(None, words)))
    joined = _MEASURE.sub(r"\1-\2", joined)
    parts = [
        "-".join(filter(None, match.groups())) if (match := _NUMBER.match(word)) else word for word in joined.split()
    ]
    return list(dict.fromkeys(parts))[:MAX_SEARCH_TERMS]


def prefix_tsquery(query: str) -> str | None:
    """Return the text of the `tsquery` that requires every word of the query as a prefix; None without words.

    `Calç pret` is `'calc':* & 'pret':*`. Quotes and backslashes are word breaks, so no term can close its quotes. It is cast, not parsed by
    `to_tsquery`, which would read a number in `10e5kit`.
    """
    return " & ".join(f"'{term}':*" for term in search_terms(query)) or None


def slugify(text: str) -> str:
    """Return the URL slug of a name, at most 120 characters: `Tênis (Azul)` is `tenis-azul`; empty without any a-z or 0-9."""
    slug = _NOT_IN_SLUG.sub("-", fold(text)).strip("-")
    if len(slug) <= MAX_SLUG_LENGTH:
        return slug
    truncated = slug[: MAX_SLUG_LENGTH + 1].rpartition("-")[0]
    return truncated or slug[:MAX_SLUG_LENGTH]


def has_forbidden_characters(text: str) -> bool:
    """Return whether the text contains NUL or a lone surrogate, which PostgreSQL can't store, or over 30 combining marks in succession."""
    if not text.isascii():
        if _has_many_marks(text):
            return True
        # The encoder finds a surrogate several times as fast as a regular expression.
        try:
            text.encode()
        except UnicodeEncodeError:
            return True
    return "\0" in text


def _has_many_marks(text: str) -> bool:
    # A search in every eighth character takes a tenth of the time of one in all.
    return _SAMPLED_MARKS.search(text[::_SAMPLE_STEP]) is not None and any(
        match.end() - match.start() > MAX_MARKS for match in _MARKS_IN_SUCCESSION.finditer(text)
    )


# Clients send JSON, not Python.
_JSON_WORDS = {"None": "null", "True": "true", "False": "false"}
_WORDS_AND_TEXTS = re.compile(rf"""'(?:[^'\\]|\\.)*'?|"(?:[^"\\]|\\.)*"?|\b(?:{"|".join(_JSON_WORDS)})\b""", re.DOTALL)


def with_json_words(text: str) -> str:
    """Return a text with values as Python writes them, `[None, 'None']`, with those of JSON that are no texts: `[null, 'None']`."""
    return _WORDS_AND_TEXTS.sub(lambda match: _JSON_WORDS.get(match[0], match[0]), text)


def shorten(text: str, length: int) -> str:
    """Return the text, cut after so many characters."""
    return text if len(text) <= length else f"{text[:length]}…"


def repr_value(value: object) -> str:
    """Return a rejected value for an error message, truncated after 60 characters: `'Z'`, `12`, `null`, `true`, `[null]`."""
    text = repr(value[:60]) if isinstance(value, str) else with_json_words(repr(value)[:80])
    return text if len(text) <= 64 else f"{text[:60]}…"


def singular(plural: str) -> str:
    """Return the singular of the name of a table or a collection: `tax` of `taxes`, `category` of `categories`."""
    if plural.endswith("ies"):
        return f"{plural[:-3]}y"
    return plural.removesuffix("es") if plural.endswith("xes") else plural.removesuffix("s")


def with_article(noun: str) -> str:
    """Return a noun, or the name of an entity, with its indefinite article: `an option`; an initial `u` is a consonant (`a user`)."""
    return f"{'an' if noun[0] in 'aeio' else 'a'} {noun.replace('_', ' ')}"
