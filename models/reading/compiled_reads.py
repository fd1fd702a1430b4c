"""Compiled reads: fetch a tree of records in the form of the response; compiled once per document, run with few statements.

A list takes one statement per level, as with a dataloader; a single record, and a short list without an offset, one statement in total,
and one more for each relation whose records PostgreSQL can't build as JSON. SQL texts are cached by the text of their conditions, which
depend on the caller's access and the filters.

Cases that need the exact behaviour of graphql-core's executor (a field the caller may not read, null in a non-null field) raise
`NotCompiled`, and the caller runs the executor.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

import orjson

from kernel.codes import ROLE_NAMES
from kernel.errors import DomainError
from kernel.event_loop import PART_SIZE, in_parts
from kernel.record_conversion import Inline, RecordConversion
from kernel.scope import Scope
from models.connection import database
from models.connection.binding import Plans
from models.reading.answer_size import AnswerSize, add_values, count_nested, current_answer, total_size, value_size
from models.reading.queries import (
    AccessConditions,
    AccessConditionsPool,
    CallerCache,
    Condition,
    ToOne,
    key_columns,
    page_of,
    plans_for,
)
from models.reading.read_statements import ReadStatement, fits_json, json_object_starts
from models.reading.response_shapes import (
    CalculatedField,
    Calculation,
    ConstantField,
    NotCompiled,
    ObjectField,
    RelationField,
    ResponseField,
    ResponseShape,
    ScalarField,
    count_objects,
)

# Up to this size, saving the round trips is worth the cost of building JSON in PostgreSQL. Lists with an offset are read by level, because
# the JSON of the skipped rows would be built as well.
SINGLE_STATEMENT_MAX_ROWS = 25
# A record referred to is joined up to this number of columns; a wider one would be repeated in every row.
JOIN_MAX_COLUMNS = 6
# SQL texts cached per level of a document. Filters and caller types make a dozen; further ones are built on each request.
MAX_CACHED_STATEMENTS = 200

_FIRST = Condition(" LIMIT 1")
_NO_TAIL = Condition("")


class CompiledReader:
    """Reads records of one shape. `native` leaves times and JSON to `orjson`; else the result is plain data, `conversion` applied."""

    def __init__(self, shape: ResponseShape, *, native: bool, conversion: RecordConversion | None = None) -> None:
        self.entity = shape.entity
        self._levels = RecordReader(shape, native, conversion=conversion)
        self._single = RecordReader(shape, native, whole=True, conversion=conversion)
        # Without relations the level reader needs one statement as well.
        self._short_lists = self._single if self._levels.relations else self._levels

    async def fetch_one(self, scope: Scope, condition: Condition) -> Any:
        """Read the first record that matches the condition, or None."""
        reader = self._single
        sql, params = reader.statement_of_one(scope, condition)
        records = await database.fetch(sql, *params, plans=Plans.REUSED)
        if not records:
            return None
        objects = await reader.build(scope, records) if reader.has_more else reader.build_at_once(records)
        return objects[0]

    async def fetch_many(
        self, scope: Scope, conditions: Sequence[Condition], *, sort: str | None, limit: int, offset: int
    ) -> list[Any]:
        """Read a list."""
        if limit <= 0:
            return []
        reader = self._reader(limit) if not offset else self._levels
        records = await reader.fetch(scope, conditions, page_of(scope, self.entity, sort, limit, offset))
        return await reader.build(scope, records[:limit])

    async def fetch_with_keys(
        self, scope: Scope, conditions: Sequence[Condition], *, sort: str | None, limit: int
    ) -> tuple[list[Any], list[Any]]:
        """Read a list and, for the cursor of each record, its sort key and id."""
        reader, keys = self._reader(limit), key_columns(scope, self.entity, sort)
        records = await reader.fetch(scope, conditions, page_of(scope, self.entity, sort, limit), keys)
        rows = [tuple(record) for record in records[:limit]]
        return await reader.build(scope, [row[:-2] for row in rows]), [row[-2:] for row in rows]

    def _reader(self, limit: int) -> RecordReader:
        return self._short_lists if limit <= SINGLE_STATEMENT_MAX_ROWS else self._levels


class RecordReader:
    """Reads records of one shape and builds their objects.

    Related records are read by the same statement as JSON (`whole`, where they can be), or by one statement per level: narrow ones are
    joined. With a `relation` it reads the related records of many parents at once.
    """

    def __init__(
        self,
        shape: ResponseShape,
        native: bool,
        *,
        whole: bool = False,
        relation: RelationField | None = None,
        conversion: RecordConversion | None = None,
    ) -> None:
        limit = None if relation is None else 1 if relation.single else relation.limit
        self.relations: list[tuple[RecordReader, int]] = []
        self.missing = () if relation is None else relation.missing
        self._calculations: list[tuple[Calculation, itemgetter[Any]]] = []
        self._relation = relation
        link, page = (None, None) if relation is None else (relation.link, relation.page)
        self._statement = ReadStatement(shape.entity, link, limit, page)
        self._position = None if page is None else self._statement.add_position(page)
        self._native, self._whole = native, whole
        self._objects = 1 + count_objects(shape.fields)
        self._starts = json_object_starts(shape.fields) if whole else set()
        self._sized: list[int] = []
        self._related_json: list[int] = []
        self._pages: list[RelationField] = []
        self._build = self._compile(shape.fields, conversion)
        # Whether the objects have related records or calculated values, which are read first.
        self.has_more = bool(self.relations or self._calculations)
        self._statements: dict[tuple[Any, ...], str] = {}
        self._conditions_pool = AccessConditionsPool()
        self._access = CallerCache(self._access_conditions)

    # --- compiling ----------------------------------------------------------------------------------------------------

    def _compile(
        self, fields: tuple[ResponseField, ...], conversion: RecordConversion | None
    ) -> Callable[..., list[Any]]:
        """Return the function that builds the objects from the records and a function per relation, which finds related objects."""
        names: dict[str, Any] = {
            "required": _non_null_value,
            "json": _parse_json,
            "time": _format_time,
            "roles": ROLE_NAMES.get,
            "related": orjson.Fragment if self._native else _parse_json,
        }
        literal = self._object(fields) if conversion is None else self._converted(fields, conversion, names)
        names["missing"] = [reader.missing for reader, _ in self.relations]
        names["pages"] = [partial(_connection, field, names["related"]) for field in self._pages]
        maps = "".join([f", m{index}" for index in range(len(self.relations))])
        maps += "".join([f", x{index}" for index in range(len(self._calculations))])
        # Taking a record apart costs less than asking it for each value.
        values = "".join([f"a{position}, " for position in range(len(self._statement.columns))]) or "_"
        source = f"def build(records{maps}):\n    return [{literal} for {values} in records]"
        exec(compile(source, "<shape>", "exec"), names)  # noqa: S102  # made of literals and repr() of keys
        build: Callable[..., list[Any]] = names["build"]
        return build

    def _converted(self, fields: tuple[ResponseField, ...], conversion: RecordConversion, names: dict[str, Any]) -> str:
        """Return the expression of a record whose values are converted as they are read, unless all of it has to be prepared."""
        if conversion.prepare is not None:
            names["convert"] = conversion
            return f"convert({self._object(fields)})"
        items = []
        for field in fields:
            if field.key in conversion.constants:
                continue
            value = self._value(field, "t")
            if field.key in conversion.fields:
                convert = conversion.fields[field.key]
                names[f"c{len(items)}"] = convert
                if isinstance(convert, Inline) and value.isidentifier():
                    value = convert.of(value)
                else:
                    value = f"c{len(items)}({value})"
            items.append(f"{field.key!r}: {value}")
        items += [f"{name!r}: {value!r}" for name, value in conversion.constants.items()]
        literal = "{" + ", ".join(items) + "}"
        if conversion.complete is None:
            return literal
        names["convert"] = RecordConversion({}, complete=conversion.complete)
        return f"convert({literal})"

    def _object(self, fields: tuple[ResponseField, ...], alias: str = "t") -> str:
        return "{" + ", ".join([f"{field.key!r}: {self._value(field, alias)}" for field in fields]) + "}"

    def _value(self, field: ResponseField, alias: str) -> str:
        if isinstance(field, ConstantField):
            return repr(field.value)
        if isinstance(field, ObjectField):
            return self._object(field.fields)
        if isinstance(field, CalculatedField):
            return self._calculated(field)
        return self._scalar(field, alias) if isinstance(field, ScalarField) else self._related(field)

    def _calculated(self, field: CalculatedField) -> str:
        positions = self._statement.add_calculated(field)
        if field.is_text:
            self._sized += positions
        self._calculations.append((field.calculate, itemgetter(*positions)))
        names = ", ".join([f"a{position}" for position in positions])
        return f"x{len(self._calculations) - 1}({names if len(positions) == 1 else f'({names})'})"

    def _scalar(self, field: ScalarField, alias: str) -> str:
        if field.value_type == "python":
            raise NotCompiled
        position = self._statement.add_scalar(field, alias)
        if field.has_any_size:
            self._sized.append(position)
        value = f"a{position}"
        if field.requires_value:
            value = f"required({value})"
        if field.value_type == "json":
            return f"json({value})"
        if field.value_type == "role":
            return f"roles({value}, {value})"
        return f"time({value})" if field.value_type == "time" and not self._native else value

    def _related(self, field: RelationField) -> str:
        link, shape = field.link, field.shape
        if self._whole and fits_json(field):
            position = self._statement.add(field, field.guard)
            self._sized.append(position)
            self._related_json.append(position)
            if field.page is not None:
                self._pages.append(field)
                return f"pages[{len(self._pages) - 1}](a{position})"
            return f"(None if a{position} is None else related(a{position}))"
        if isinstance(link, ToOne) and _is_joinable(shape):
            self._objects += 1
            alias, position = self._statement.join(shape.entity, link, field.guard)
            return f"(None if a{position} is None else {self._object(shape.fields, alias)})"
        position = self._statement.add_source(link, field.guard)
        is_short = field.is_one or (field.limit is not None and field.limit <= SINGLE_STATEMENT_MAX_ROWS)
        whole = self._whole and is_short
        self.relations.append((RecordReader(shape, self._native, whole=whole, relation=field), position))
        at = len(self.relations) - 1
        return f"m{at}(a{position})" if field.is_one else f"m{at}(a{position}, missing[{at}])"

    # --- reading ------------------------------------------------------------------------------------------------------

    def _access_conditions(self, scope: Scope) -> AccessConditions:
        try:
            collector = self._statement.collect(scope)
        except DomainError as error:
            raise NotCompiled from error
        return self._conditions_pool(collector.texts, collector.params)

    def _sql(self, access: AccessConditions, tail: str = "", extra: str = "", conditions: tuple[str, ...] = ()) -> str:
        answer = current_answer() if self._whole else None
        limits = answer.limits if answer is not None else None
        key = (limits, tail, extra, *conditions)
        sql = access.statements.get(key)
        if sql is None:
            shared = (*key, *access.texts)
            sql = self._statements.get(shared) or self._statement.sql(access.texts, conditions, tail, extra, limits)
            for cache, cache_key in ((self._statements, shared), (access.statements, key)):
                if len(cache) < MAX_CACHED_STATEMENTS:
                    cache[cache_key] = sql
        return sql

    async def fetch(
        self, scope: Scope, conditions: Sequence[Condition], tail: Condition, extra: Condition | None = None
    ) -> list[Any]:
        """Fetch the records of a list, with `extra` columns at the end."""
        sql, params = self.statement(scope, conditions, tail, extra)
        return await database.fetch(sql, *params, plans=plans_for(conditions))

    def statement(
        self,
        scope: Scope,
        conditions: Sequence[Condition] = (),
        tail: Condition = _NO_TAIL,
        extra: Condition | None = None,
        keys: Iterable[Any] | None = None,
    ) -> tuple[str, list[Any]]:
        """Return the statement of a list, or with `keys` that of the rows related to these parents, and its parameters.

        Raise `NotCompiled` for what the caller may not read; its cause is the `DomainError`.
        """
        access = self._access(scope)
        texts = tuple([condition.sql for condition in conditions])
        sql = self._sql(access, tail.sql, "" if extra is None else extra.sql, texts)
        params = [scope.store.id, *access.params]
        for condition in conditions:
            params += condition.params
        params += tail.params
        if extra is not None:
            params += extra.params
        if keys is not None:
            params.append(array_literal(keys))
        return sql, params

    def statement_of_one(self, scope: Scope, condition: Condition) -> tuple[str, tuple[Any, ...]]:
        """Return `statement` with `LIMIT 1` for one condition, the most frequent one."""
        access = self._access(scope)
        return self._sql(access, _FIRST.sql, "", (condition.sql,)), (scope.store.id, *access.params, *condition.params)

    def check(self, scope: Scope) -> None:
        """Raise `NotCompiled` if the caller may not read a field, as `statement`; relations included."""
        self._access(scope)
        for reader, _ in self.relations:
            reader.check(scope)

    async def build(self, scope: Scope, records: Sequence[Any], times: Sequence[int] | None = None) -> list[Any]:
        """Read the related records and build the objects. `times`: how often the answer contains each record; None: once.

        Raise `AnswerTooLarge` when the answer would be over its limits, before the next level is read.
        """
        if not records:
            return []
        if not self.has_more and times is None and len(records) <= PART_SIZE:
            return self.build_at_once(records)
        answer = current_answer()
        if answer is not None and len(records) <= PART_SIZE:
            self._count(answer, records, times)
        elif answer is not None:
            start = 0
            async for part in in_parts(records):
                self._count(answer, part, times[start : start + len(part)] if times is not None else None)
                start += len(part)
        maps = []
        for reader, position in self.relations:
            maps.append((await reader.read_related(scope, [record[position] for record in records], times)).get)
        for calculate, value_of in self._calculations:
            maps.append((await _calculated(scope, calculate, [*map(value_of, records)], times)).get)
        if len(records) <= PART_SIZE:
            return self._build(records, *maps)
        return [built async for part in in_parts(records) for built in self._build(part, *maps)]

    def build_at_once(self, records: Sequence[Any]) -> list[Any]:
        """Build the objects of at most `PART_SIZE` records without `has_more`, as `build`."""
        answer = current_answer()
        if answer is not None:
            self._count(answer, records, None)
        return self._build(records)

    async def read_related(
        self, scope: Scope, parents: list[Any], times: Sequence[int] | None = None
    ) -> dict[Any, Any]:
        """Read the related objects by the key of their parent.

        The objects of a key are in the answer as often as its parents are: `times` each, None for once.
        """
        relation, access = self._relation, self._access(scope)
        assert relation is not None
        # Several parents may refer to one record, and a record may be in the answer several times.
        keys = dict.fromkeys([parent for parent in parents if parent is not None])
        if not keys:
            return {}
        sql, answer = self._sql(access), current_answer()
        if answer is not None and not relation.is_one and relation.limit is None:
            sql = f"{sql} LIMIT {answer.limits.max_objects + 1}"
        records = await database.fetch(sql, scope.store.id, *access.params, array_literal(keys), plans=Plans.REUSED)
        if answer is not None and (times is not None or len(set(parents)) < len(parents)):
            totals = _total_times(parents, times)
            times = [totals[record[0]] for record in records]
        objects = await self.build(scope, records, times)
        return await group_related(relation, records, objects, self._position)

    def _count(self, answer: AnswerSize, records: Sequence[Any], times: Sequence[int] | None) -> None:
        sized = self._sized
        texts = [record[position] for record in records for position in sized]
        if times is None:
            size, count = total_size(texts), len(records)
        else:
            repeated = [n for n in times for _ in sized]
            size, count = sum([n * value_size(text) for n, text in zip(repeated, texts, strict=True)]), sum(times)
        objects = self._objects * count
        # An object takes more than one character, so that most answers need no look into the JSON.
        if self._starts and size > answer.limits.max_objects:
            for text in _texts_of([record[position] for record in records for position in self._related_json]):
                objects += sum([text.count(start) for start in self._starts])
        answer.add(objects, size)


async def _calculated(
    scope: Scope, calculate: Calculation, values: Sequence[Any], times: Sequence[int] | None
) -> dict[Any, Any]:
    """Return what is calculated for each value; raise `NotCompiled` for an error, which the executor reports."""
    totals = _total_times(values, times)
    try:
        results = dict(zip(totals, await calculate(scope, list(totals)), strict=True))
    except DomainError as error:
        raise NotCompiled from error
    for result in results.values():
        if isinstance(result, DomainError):
            raise NotCompiled from result
    answer = current_answer()
    if answer is not None and len(totals) == totals.total():
        add_values(answer, results.values())
    elif answer is not None:
        for value, result in results.items():
            answer.add(totals[value] * count_nested(result), totals[value] * value_size(result))
    return results


async def group_related(
    relation: RelationField, records: Sequence[Any], objects: Sequence[Any], position: tuple[int, int] | None = None
) -> dict[Any, Any]:
    """Return the objects of a relation by the key of their parent, which is the first column of their records.

    Of a connection, `position` are the columns with the sort key and id of a record.
    """
    if relation.is_one:
        return {record[0]: built for record, built in zip(records, objects, strict=True)}
    if position is not None:
        key, number = position
        objects = [(built, (record[key], record[number])) for record, built in zip(records, objects, strict=True)]
    groups: defaultdict[Any, list[Any]] = defaultdict(list)
    async for part in in_parts(list(zip(records, objects, strict=True))):
        for record, built in part:
            groups[record[0]].append(built)
    if relation.limit is not None:  # the statement's is one of a few sizes
        for group in groups.values():
            del group[relation.limit :]
    return groups if relation.page is None else {key: relation.page.build(group) for key, group in groups.items()}


def _connection(
    relation: RelationField, build: Callable[[str], Any], records: Sequence[tuple[str, Any, int]] | None
) -> Any:
    """Build a connection of the JSON of its records, with their sort keys and ids."""
    assert relation.page is not None
    return relation.page.build(
        [(build(text), (key, number)) for text, key, number in (records or ())[: relation.limit]]
    )


def _texts_of(values: Iterable[Any]) -> Iterator[str]:
    """Iterate over the JSON that the columns of relations contain, of connections that of each record."""
    for value in values:
        if isinstance(value, str):
            yield value
        elif value is not None:
            yield from [text for text, _, _ in value]


def array_literal(keys: Any) -> str:
    """Return an array of numbers as text: asyncpg checks the type of each element of a list twice."""
    return "{" + ",".join(map(str, keys)) + "}"


def _is_joinable(shape: ResponseShape) -> bool:
    return len(shape.fields) <= JOIN_MAX_COLUMNS and all(
        isinstance(field, ConstantField)
        or (isinstance(field, ScalarField) and isinstance(field.sql, str) and not field.requires_value)
        for field in shape.fields
    )


def _total_times(parents: Sequence[Any], times: Sequence[int] | None) -> Counter[Any]:
    """Return how often the answer contains the parents with each key."""
    if times is None:
        return Counter(parents)
    totals: Counter[Any] = Counter()
    for parent, count in zip(parents, times, strict=True):
        totals[parent] += count
    return totals


# --- conversion of values ---------------------------------------------------------------------------------------------


def _non_null_value(value: Any) -> Any:
    """Return a non-null value; raise `NotCompiled` for null, because the executor reports the error."""
    if value is None:
        raise NotCompiled
    return value


def _parse_json(value: Any) -> Any:
    """Parse JSON that the database returned as text."""
    return orjson.loads(value) if isinstance(value, str) else value


def _format_time(value: Any) -> Any:
    """Format a time for responses that orjson does not serialize."""
    return None if value is None else value.isoformat()[:19] + "Z"
