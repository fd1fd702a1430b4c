"""Find which words of a query are had together by products where no product has all, so that one word too many finds something."""

from __future__ import annotations

from collections.abc import Sequence

from domain.search.spelling import VISIBLE, with_visible
from kernel.scope import Scope
from models.connection.database import fetch
from models.reading.queries import Condition

# All words, all but one, and single words: those that a product has which the caller sees. All but one only of few words: each set costs
# a look into the index.
_MAX_WORDS = 8
_SUBSETS = f"""
WITH required AS (SELECT vitrine_required_words($2::text[]) AS words),
subsets AS (
    SELECT words FROM required
    UNION SELECT array_remove(r.words, w.word) FROM required r, unnest(r.words) AS w (word)
        WHERE cardinality(r.words) BETWEEN 2 AND {_MAX_WORDS}
    UNION SELECT ARRAY[w.word] FROM required r, unnest(r.words) AS w (word)
)
SELECT array_to_string(s.words, ' ') AS words, cardinality(s.words) AS length, s.words = r.words AS is_whole
FROM subsets s, required r WHERE EXISTS ({VISIBLE.replace("{query}", "vitrine_products_query(s.words, false)")})
"""


async def find_best_subsets(scope: Scope, visible: Condition, words: Sequence[str]) -> tuple[str, ...]:
    """Return the largest sets of words, joined by spaces, that a product has together; none if one has all words, or none has any.

    The answer depends on the query and on what the caller sees alone, so that a search has the same one with other filters and pages.
    """
    rows = await fetch(with_visible(_SUBSETS, visible, 3), scope.store.id, list(words), *visible.params)
    if any(row["is_whole"] for row in rows):
        return ()
    longest = max((row["length"] for row in rows), default=0)
    return tuple(sorted(row["words"] for row in rows if row["length"] == longest))
