"""Prepare GraphQL documents for execution: check their limits, parse, validate and cache them.

A document over a limit (`resolvers/engine/limits.py`) is neither parsed nor validated; its cost is measured before it is executed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from graphql import (
    DocumentNode,
    FragmentDefinitionNode,
    GraphQLError,
    GraphQLSchema,
    GraphQLSyntaxError,
    NamedTypeNode,
    NonNullTypeNode,
    OperationDefinitionNode,
    Source,
    StringValueNode,
    VariableDefinitionNode,
    Visitor,
    parse,
    validate,
    visit,
)
from graphql.execution.values import VariableValues, get_variable_values
from graphql.validation import ASTValidationRule, ExecutableDefinitionsRule

from kernel.cache import BoundedCache
from kernel.errors import TooComplex, ValidationFailed
from kernel.record_conversion import Conversions
from kernel.text import shorten
from kernel.work_queues import WorkQueue
from resolvers.engine.limits import (
    MAX_ANONYMOUS_LENGTH,
    MAX_ANONYMOUS_TOKENS,
    MAX_DEPTH,
    MAX_LENGTH,
    MAX_TOKENS,
    LimitChecker,
)
from resolvers.engine.scanner import (
    ScannedDocument,
    ScannedSpread,
    TooManyTokens,
    scan_document,
)
from resolvers.engine.usage import Fields, used_fields
from resolvers.engine.validation_rules import RULES as RULES

# The total number of tokens of all cached documents: a parsed token takes 600 bytes.
MAX_CACHED_TOKENS = 100_000
# Preparing takes up to 50 ms for texts of this length, half a second for one of `MAX_LENGTH`.
MAX_SHORT_LENGTH = 2_000
_DOCUMENTS = WorkQueue("documents", most_waiting=2)
_SHORT_DOCUMENTS = WorkQueue("short documents", most_waiting=20)
# Errors of validation and of the coercion of variables that are reported.
MAX_ERRORS = 5
# Characters of an error of validation, which quotes names of the document.
MAX_ERROR_LENGTH = 500


@dataclass(frozen=True)
class PreparedDocument:
    """A document ready for execution, or its validation errors."""

    document: DocumentNode | None
    errors: tuple[GraphQLError, ...]
    operations: Mapping[str | None, OperationDefinitionNode]
    scanned: ScannedDocument | None = None
    size: int = 0
    costs: dict[Any, int] = field(default_factory=dict, compare=False, repr=False)
    """The cache of `resolvers.engine.costs.measure_cost`."""
    reusable_plans: dict[str | None, Any] = field(default_factory=dict, compare=False, repr=False)
    """The `resolvers.engine.compile.ReusablePlan` of the document's only operation, by None and its name; empty until it is compiled."""
    plans_by_variables: dict[bytes, Any] = field(default_factory=dict, compare=False, repr=False)
    """The same for the variables of recent requests, with their values: where those affect structure or cost, or need coercion."""
    catalogue_reads: dict[str | None, bool] = field(default_factory=dict, compare=False, repr=False)
    """Whether each operation reads the catalogue alone (`resolvers.catalog_reads`), once it was asked."""
    used_fields: Mapping[str | None, Fields] = field(default_factory=dict, compare=False, repr=False)
    """What each operation of a client's document uses of the schema, for `resolvers.engine.usage`."""
    variables: dict[Any, VariableValues] = field(default_factory=dict, compare=False, repr=False)
    """The cache of `coerced_variables`."""
    conversions: Conversions = field(default_factory=dict, compare=False, repr=False)
    """The conversions of records that a facade reads with the document."""

    @property
    def has_plans(self) -> bool:
        """Return whether a plan is cached with the document."""
        return bool(self.reusable_plans or self.plans_by_variables)

    @property
    def fragments(self) -> dict[str, FragmentDefinitionNode]:
        """Return the fragments of a valid document by name."""
        definitions = self.document.definitions if self.document is not None else ()
        return {node.name.value: node for node in definitions if isinstance(node, FragmentDefinitionNode)}

    def fields_of(self, name: str | None) -> Fields:
        """Return what the operation of the name, or the only one, uses of the schema; nothing for one that isn't there."""
        if name is None and len(self.used_fields) == 1:
            return next(iter(self.used_fields.values()))
        return self.used_fields.get(name, ())

    def operation(self, name: str | None) -> OperationDefinitionNode | None:
        """Return the operation by name, or the only operation without a name."""
        if name:
            return self.operations.get(name)
        return next(iter(self.operations.values())) if len(self.operations) == 1 else None


def prepare_document(
    schema: GraphQLSchema,
    text: str,
    *,
    limited: bool,
    max_tokens: int = MAX_TOKENS,
) -> PreparedDocument:
    """Parse and validate a document; `limited` applies the query limits, but for the cost, to a client's document.

    Raises `TooComplex` for a document over a limit.
    """
    if limited and len(text) > MAX_LENGTH:
        raise TooComplex(f"the document is {len(text)} characters long; at most {MAX_LENGTH} are allowed")
    try:
        scanned = scan_document(text, max_tokens=max_tokens if limited else None)
    except TooManyTokens as problem:
        raise TooComplex(f"the document has more than {max_tokens} tokens") from problem
    if scanned is not None and limited:
        checker = LimitChecker(scanned)
        checker.check()
        if checker.cycle is not None:
            return PreparedDocument(None, (_cycle_error(text, checker.cycle),), {})
    try:
        document = parse(text)
    except GraphQLSyntaxError as problem:
        return PreparedDocument(None, (problem,), {})
    except RecursionError as problem:
        raise TooComplex(f"the document is deeper than {MAX_DEPTH} levels") from problem
    if "\\u" in text:
        _reject_nul(document)
    if scanned is None:
        return _reject_type_system_document(schema, document)
    errors = _find_errors(schema, document, RULES)
    operations = {
        (node.name.value if node.name else None): node
        for node in document.definitions
        if isinstance(node, OperationDefinitionNode)
    }
    prepared = PreparedDocument(document, tuple(errors), operations, scanned, scanned.size)
    if errors or not limited:
        return prepared
    uses = {name: used_fields(schema, operation, prepared.fragments) for name, operation in operations.items()}
    return replace(prepared, used_fields=uses)


def _reject_type_system_document(schema: GraphQLSchema, document: DocumentNode) -> PreparedDocument:
    """Return the errors of a document that the parser accepts and the scanner rejects: it contains type definitions."""
    errors = _find_errors(schema, document, [ExecutableDefinitionsRule])
    if not errors:
        raise ValidationFailed("the document can't be read")
    return PreparedDocument(None, tuple(errors), {})


def _find_errors(
    schema: GraphQLSchema, document: DocumentNode, rules: Collection[type[ASTValidationRule]]
) -> list[GraphQLError]:
    """Return the errors of a document, shortened: each quotes names of any length."""
    errors = validate(schema, document, rules, max_errors=MAX_ERRORS)
    for error in errors:
        error.message = shorten(error.message, MAX_ERROR_LENGTH)
    return errors


def _cycle_error(text: str, cycle: tuple[ScannedSpread, ...]) -> GraphQLError:
    """Return the error that validation reports for a fragment that spreads itself."""
    names = [spread.name for spread in cycle]
    via = f" via {', '.join(repr(name) for name in names[:-1])}" if len(names) > 1 else ""
    return GraphQLError(
        shorten(f"Cannot spread fragment '{names[-1]}' within itself{via}.", MAX_ERROR_LENGTH),
        source=Source(text),
        positions=[spread.position for spread in cycle],
    )


def _reject_nul(document: DocumentNode) -> None:
    """Raise `ValidationFailed` for an escaped NUL in a string literal; PostgreSQL can't store it."""

    class Strings(Visitor):
        def enter_string_value(self, node: StringValueNode, *_args: Any) -> None:
            if "\x00" in node.value:
                raise ValidationFailed("a string must not hold NUL")

    visit(document, Strings())


class DocumentCache:
    """A cache of prepared documents by text, which callers share fairly.

    Bounded by the number of documents, the length of each text and the total number of tokens, to bound the memory used.
    """

    def __init__(
        self,
        schema: GraphQLSchema,
        *,
        max_documents: int = 1000,
        max_length: int = 20_000,
        max_tokens: int = MAX_CACHED_TOKENS,
    ) -> None:
        self.schema = schema
        self._documents: BoundedCache[str, PreparedDocument] = BoundedCache(
            max_documents, max_weight=max_tokens, weigh=lambda prepared: prepared.size
        )
        self._max_length = max_length

    def __len__(self) -> int:
        """Return the number of cached documents."""
        return len(self._documents)

    async def prepare(self, text: str) -> PreparedDocument:
        """Return the same as `prepare_now`, prepared in a thread while other requests are served.

        Raises `RateLimited` when too many documents of the caller wait. Requests of one text wait for the same work.
        """
        work = partial(prepare_document, self.schema, text, limited=True)

        async def prepare() -> PreparedDocument:
            prepared = await (_DOCUMENTS if len(text) > MAX_SHORT_LENGTH else _SHORT_DOCUMENTS).run(work)
            self._store(text, prepared)
            return prepared

        return await (prepare() if len(text) > self._max_length else self._documents.find_or_make(text, prepare))

    async def prepare_once(self, text: str) -> PreparedDocument:
        """Return the document of a caller without a credential, which has to be short and isn't cached. Raises as `prepare`."""
        if len(text) > MAX_ANONYMOUS_LENGTH:
            raise TooComplex(
                f"without a credential a document has at most {MAX_ANONYMOUS_LENGTH} characters, not {len(text)}"
            )
        work = partial(prepare_document, self.schema, text, limited=True, max_tokens=MAX_ANONYMOUS_TOKENS)
        return await _SHORT_DOCUMENTS.run(work)

    def find(self, text: str) -> PreparedDocument | None:
        """Return the cached document of a text, which then counts as used."""
        return self._documents.find(text)

    def fields_of(self, text: str, name: str | None) -> Fields:
        """Return what an operation of a cached document uses of the schema; nothing for a document that isn't cached."""
        prepared = self.find(text)
        return () if prepared is None else prepared.fields_of(name)

    def prepare_now(self, text: str) -> PreparedDocument:
        """Return the prepared document of a client's text. Raises `TooComplex`."""
        cached = self.find(text)
        if cached is not None:
            return cached
        prepared = prepare_document(self.schema, text, limited=True)
        self._store(text, prepared)
        return prepared

    def _store(self, text: str, prepared: PreparedDocument) -> None:
        # A long document with errors takes up to a megabyte, and no client sends it again to be served.
        if len(text) <= (MAX_SHORT_LENGTH if prepared.errors else self._max_length):
            self._documents.keep(text, prepared)


def size_variables(
    schema: GraphQLSchema, prepared: PreparedDocument, operation: OperationDefinitionNode, variables: Mapping[str, Any]
) -> dict[str, int | None]:
    """Return the coerced variables that may be list sizes: validation allows only a plain `Int` as the value of a size argument.

    One that is null, which asks for the usual size whatever its default, differs from one that is left out.
    """
    definitions = [node for node in operation.variable_definitions or () if _named_type(node) == "Int"]
    if not definitions:
        return {}
    values = coerced_variables(schema, prepared, operation, variables) or get_variable_values(
        schema, definitions, dict(variables), MAX_ERRORS
    )
    # A variable that can't be coerced is an error, and nothing is executed.
    coerced = values.coerced if isinstance(values, VariableValues) else {}
    names = [node.variable.name.value for node in definitions]
    return {name: coerced[name] for name in names if name in coerced}


# Per document; the texts of longer values are not kept.
_MAX_CACHED_VARIABLES = 100
_MAX_CACHED_TEXT = 200
_CACHED_TYPES = {str, int, bool, float, type(None)}


def coerced_variables(
    schema: GraphQLSchema, prepared: PreparedDocument, operation: OperationDefinitionNode, variables: Mapping[str, Any]
) -> VariableValues | None:
    """Return the variables of an operation coerced by graphql-core, None if it can't; those of short plain values are kept."""
    values = variables.values()
    key = None
    if {*map(type, values)} <= _CACHED_TYPES:
        # True equals 1, but is no Int.
        key = (operation.name and operation.name.value, *variables.items(), *map(type, values))
        known = prepared.variables.get(key)
        if known is not None:
            return known
    definitions = operation.variable_definitions or ()
    coerced = get_variable_values(schema, definitions, dict(variables), MAX_ERRORS)
    if not isinstance(coerced, VariableValues):
        return None
    is_short = all(len(value) <= _MAX_CACHED_TEXT for value in (*variables, *values) if isinstance(value, str))
    if key is not None and is_short and len(prepared.variables) < _MAX_CACHED_VARIABLES:
        prepared.variables[key] = coerced
    return coerced


def _named_type(node: VariableDefinitionNode) -> str:
    """Return the type of a variable without its `!`; empty for a list."""
    type_ = node.type.type if isinstance(node.type, NonNullTypeNode) else node.type
    return type_.name.value if isinstance(type_, NamedTypeNode) else ""
