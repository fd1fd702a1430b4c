"""The number of wrong letters between two words."""

from __future__ import annotations

# A word of up to five letters may have one wrong letter, a longer one two; shorter words are too similar to each other.
MIN_LENGTH, MIN_LENGTH_FOR_TWO = 3, 6


def allowed_errors(word: str) -> int:
    """Return the number of wrong letters with which a word is still taken for another one: 0, 1 or 2."""
    return (len(word) >= MIN_LENGTH) + (len(word) >= MIN_LENGTH_FOR_TWO)


def count_errors(word: str, other: str, limit: int) -> int:
    """Return how many letters have to be changed, added, removed, or exchanged with their neighbour; `limit + 1` for more than `limit`.

    The optimal string alignment distance: no letter is changed twice.
    """
    if abs(len(word) - len(other)) > limit:
        return limit + 1
    earlier: list[int] = []
    last: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(word, 1):
        earlier, last, row = last, row, [i]
        for j, wanted in enumerate(other, 1):
            errors = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and word[i - 2] == wanted:
                errors = min(errors, earlier[j - 2] + 1)
            row.append(errors)
        if min(row) > limit and min(last) > limit:
            return limit + 1
    return min(row[-1], limit + 1)
