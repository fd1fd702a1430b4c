"""A relation of rows that other code reads with a statement of its own, as a column of that statement: JSON that PostgreSQL builds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from kernel.scope import Scope
from models.reading.answer_size import current_answer, total_size
from models.reading.queries import AccessConditions, AccessConditionsPool, CallerCache
from models.reading.read_statements import (
    ConditionCollector,
    collect_related,
    fits_json,
    json_object_starts,
    related_sql,
)
from models.reading.response_shapes import NotCompiled, RelationField


class BoundColumn(NamedTuple):
    """The SQL of a column for one caller, text or null, and its parameters."""

    sql: str
    params: Sequence[Any]


class RelatedColumn:
    """The record that the row `alias` of a statement refers to; the column's parameters begin with the number `first`."""

    def __init__(self, relation: RelationField, alias: str, first: int) -> None:
        if not relation.is_one or relation.guard is not None or not fits_json(relation):
            raise NotCompiled
        self._relation, self._alias, self._first = relation, alias, first
        self._starts = json_object_starts((relation,))
        self._pool = AccessConditionsPool()
        self._access = CallerCache(self._access_conditions)

    def _access_conditions(self, scope: Scope) -> AccessConditions:
        collector = ConditionCollector()
        collect_related(self._relation.shape, scope, collector)
        return self._pool(collector.texts, collector.params)

    def bind(self, scope: Scope) -> BoundColumn:
        """Return the column for the caller; raise the `DomainError` of what the caller may not read."""
        access, answer = self._access(scope), current_answer()
        limits = answer.limits if answer is not None else None
        sql = access.statements.get(limits)
        if sql is None:
            sql = access.statements[limits] = related_sql(
                self._relation, self._alias, self._first, access.texts, limits
            )
        return BoundColumn(sql, access.params)

    def count(self, texts: Sequence[str | None]) -> None:
        """Count the records in the answer; raise `AnswerTooLarge` over a limit."""
        answer = current_answer()
        if answer is None:
            return
        records, size = [text for text in texts if text is not None], total_size(list(texts))
        objects = len(records)
        # An object takes more than one character, so that most answers need no look into the JSON.
        if size > answer.limits.max_objects:
            objects = sum([text.count(start) for text in records for start in self._starts])
        answer.add(objects, size)
