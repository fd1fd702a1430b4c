"""Find the word that was meant by one that no product has: that of a product, with one or two wrong letters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from kernel.scope import Scope
from kernel.spelling import allowed_errors, count_errors
from kernel.text import compound_words
from models.connection.database import fetch
from models.reading.queries import Condition

MAX_CORRECTED_WORDS = 4
# Of one word; what the letters leave over is compared in full.
_MAX_SIMILAR, _MAX_CANDIDATES = 1_000, 25
# Beyond it a word is frequent enough.
_MAX_COUNT = 1_000

VISIBLE = (
    "SELECT FROM search_products({query}) AS f (id) JOIN search_entries t ON t.tenant_id = $1 AND t.product_id = f.id"
    " WHERE ({visible})"
)
_UNKNOWN = (
    "SELECT w.word FROM unnest(vitrine_required_words($2::text[])) WITH ORDINALITY AS w (word, place)"
    f" WHERE NOT EXISTS ({VISIBLE.replace('{query}', 'vitrine_word_query(w.word)')}) ORDER BY w.place"
)
# A wrong letter changes at most two bits, those of the letter that is there and of the one that is missing.
_SIMILAR = f"""
SELECT w.word, s.word AS other FROM unnest($2::text[], $3::int[]) AS w (word, errors), LATERAL (
    SELECT DISTINCT s.word, bit_count(s.letters # l.letters) AS bits
    FROM (SELECT vitrine_letters(w.word) AS letters OFFSET 0) AS l, search_words s
    WHERE s.tenant_id = $1 AND length(s.word) BETWEEN length(w.word) - w.errors AND length(w.word) + w.errors
        AND bit_count(s.letters # l.letters) <= 2 * w.errors
    ORDER BY bits, s.word LIMIT {_MAX_SIMILAR}
) AS s
"""
# A search matches a product's hidden words too (`search_words`), which a correction must not show.
_COUNTS = f"""
SELECT w.word, (SELECT count(*) FROM (
    {VISIBLE.replace("{query}", "q.query")} AND EXISTS (
        SELECT FROM products p WHERE p.tenant_id = $1 AND p.id = f.id AND CASE
            WHEN p.search_words = '' OR NOT vitrine_product_vector($1, p.search_words) @@ q.query THEN true
            ELSE vitrine_product_vector(
                $1, p.name || ' ' || vitrine_sku_word(p.sku) || ' ' || p.short_description || ' ' || p.description
            ) @@ q.query
        END
    ) LIMIT {_MAX_COUNT}
) AS e) AS count
FROM unnest($2::text[]) AS w (word), vitrine_exact_query(w.word) AS q (query)
"""


async def correct_query(scope: Scope, visible: Condition, query: str) -> str | None:
    """Return the query with each word that matches no product replaced by a similar one; None if a word has none, or all match.

    The most similar word is taken, of several the one that most products have that the caller sees, then the first in the alphabet: nothing
    of other products is revealed, nor of a product's hidden words. Words with digits, with hyphens, or of other letters than a to z are not
    corrected. The replacements are folded.
    """
    unknown = await _unknown_words(scope, visible, compound_words(query))
    if not 0 < len(unknown) <= MAX_CORRECTED_WORDS or not all(_is_correctable(word) for word in unknown):
        return None
    candidates = await _similar_words(scope, unknown)
    counts = await _counts(scope, visible, {other for words in candidates.values() for _, other in words})
    meant = {}
    for word in unknown:
        known = [(errors, -counts[other], other) for errors, other in candidates[word] if counts[other]]
        if not known:
            return None
        meant[word] = min(known)[2]
    return " ".join(meant.get("-".join(compound_words(word)), word) for word in query.split())


def _is_correctable(word: str) -> bool:
    return word.isascii() and word.isalpha() and allowed_errors(word) > 0


async def _unknown_words(scope: Scope, visible: Condition, words: list[str]) -> list[str]:
    rows = await fetch(with_visible(_UNKNOWN, visible, 3), scope.store.id, words, *visible.params)
    return [row["word"] for row in rows]


async def _similar_words(scope: Scope, words: list[str]) -> dict[str, list[tuple[int, str]]]:
    """Return the words nearest to each, with the numbers of their errors."""
    rows = await fetch(_SIMILAR, scope.store.id, words, [allowed_errors(word) for word in words])
    similar = defaultdict(list)
    for row in rows:
        word, other, limit = row["word"], row["other"], allowed_errors(row["word"])
        errors = count_errors(word, other, limit)
        if errors <= limit:
            similar[word].append((errors, other))
    return {word: sorted(similar[word])[:_MAX_CANDIDATES] for word in words}


async def _counts(scope: Scope, visible: Condition, words: Iterable[str]) -> dict[str, int]:
    """Return the number of visible products that have each word in a text that is shown, up to a thousand."""
    rows = await fetch(with_visible(_COUNTS, visible, 3), scope.store.id, sorted(words), *visible.params)
    return {row["word"]: row["count"] for row in rows}


def with_visible(sql: str, visible: Condition, number: int) -> str:
    """Insert the condition of the entries that the caller sees, whose parameters begin at `number`."""
    first, *pieces = visible.sql.replace("{tenant}", "$1").split("{}")
    text = first + "".join([f"${number + index}{piece}" for index, piece in enumerate(pieces)])
    return sql.replace("{visible}", text)
