"""The SQL functions that fold text, made of the rule in `kernel.text`."""

from __future__ import annotations

from kernel.text import FOLD_FROM, FOLD_TO, MARKS, WORD_BREAKS


def fold_sql(expression: str) -> str:
    """Return the SQL expression that folds `expression` (trusted SQL, such as `$1`) exactly as `fold` does.

    It is immutable, so that indexes and generated columns can use it, and pure ASCII, so that no editor or driver changes it.
    """
    plain = f"""lower(normalize({expression}, NFKD) COLLATE "C")"""
    unmarked = f"regexp_replace({plain}, '[{MARKS}]+', '', 'g')"
    return f"vitrine_fold_characters({unmarked})"


def fold_characters_sql(expression: str) -> str:
    """Return the SQL expression of `vitrine_fold_characters`: it folds what has no decomposition, in text without marks."""
    characters = "".join(f"\\u{ord(character):04x}" for character in FOLD_FROM)
    folded = f"translate({expression}, {_sql_literal(FOLD_FROM)}, {_sql_literal(FOLD_TO)})"
    return f"CASE WHEN {expression} ~ '[{characters}]' THEN {folded} ELSE {expression} END"


def words_sql(expression: str) -> str:
    """Return the SQL expression of a text's words: folded, with HTML tags and word breaks replaced by spaces.

    They are the terms of `search_terms`. PostgreSQL's own parser would treat `a/b` as a file and `tenis-38` as a negative number.
    """
    without_tags = f"regexp_replace({expression}, '</?[A-Za-z][^>]*>', ' ', 'g')"
    return f"regexp_replace({fold_sql(without_tags)}, '[{WORD_BREAKS}]+', ' ', 'g')"


def _sql_literal(text: str) -> str:
    r"""Return the text as an ASCII PostgreSQL string literal (`U&'\\00E7'`); it must lie within the basic plane."""
    return "U&'" + "".join(f"\\{ord(character):04X}" for character in text) + "'"
