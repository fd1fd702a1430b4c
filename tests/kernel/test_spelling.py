"""The number of wrong letters is that of a plain definition."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel.spelling import allowed_errors, count_errors

WORDS = st.text("abc", max_size=7)


@cache
def distance(word: str, other: str) -> int:
    """Return the optimal string alignment distance by its recursive definition."""
    if not word or not other:
        return len(word) + len(other)
    steps = [
        distance(word[:-1], other) + 1,
        distance(word, other[:-1]) + 1,
        distance(word[:-1], other[:-1]) + (word[-1] != other[-1]),
    ]
    if len(word) > 1 and len(other) > 1 and word[-1] == other[-2] and word[-2] == other[-1]:
        steps.append(distance(word[:-2], other[:-2]) + 1)
    return min(steps)


@given(WORDS, WORDS, st.integers(1, 2))
def test_errors_are_counted_up_to_the_limit(word: str, other: str, limit: int) -> None:
    assert count_errors(word, other, limit) == min(distance(word, other), limit + 1)


@pytest.mark.parametrize("length, allowed", [(1, 0), (2, 0), (3, 1), (5, 1), (6, 2), (20, 2)])
def test_longer_words_may_have_more_errors(length: int, allowed: int) -> None:
    assert allowed_errors("a" * length) == allowed
