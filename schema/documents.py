"""Prepare documents: weigh, parse, validate, once a text.

The limits of decisions section 2 are checked first, on the outline of the text (`schema/outline.py`), by walks that are linear in it
however often fragments are reused: what a fragment holds is computed once. A document over a limit costs neither parsing nor
validation.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from graphql import (
    DocumentNode,
    GraphQLError,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLSyntaxError,
    OperationDefinitionNode,
    Source,
    StringValueNode,
    Visitor,
    get_named_type,
    is_list_type,
    is_non_null_type,
    is_object_type,
    specified_rules,
    validate,
    visit,
)
from graphql.validation import ExecutableDefinitionsRule, OverlappingFieldsCanBeMergedRule

from kernel.errors import TooComplex, ValidationFailed
from schema.lexing import parse_quickly
from schema.outline import (
    SIZE_ARGUMENTS,
    Given,
    Inline,
    Outline,
    OutlineField,
    OutlineOperation,
    Selections,
    Spread,
    TooManyTokens,
    outline_of,
)
from schema.overlapping import FieldsMergeRule

MAX_DEPTH = 12
MAX_ALIASES = 100
MAX_TOKENS = 2000
MAX_REPEATS = 50
MAX_COST = 10_000
MAX_INTROSPECTION_DEPTH = 20
DEFAULT_LIST_SIZE = 10
# Fields of a document with every use of a fragment written out. 2,000 tokens hold fewer than 2,000 of them; only fragments that use
# fragments reach this, and what walks the answer's shape (validation, `resolvers.compiled`) would take as many steps.
MAX_FIELDS = 5000
# How many tokens all kept documents may have together: a token takes 600 bytes when parsed.
MAX_KEPT_TOKENS = 100_000
_INTROSPECTION = ("__schema", "__type")
# Python's stack ends the walks at some 300 fragments that use one another in a row.
_LONGEST_CHAIN = 100


_RULES = [FieldsMergeRule if rule is OverlappingFieldsCanBeMergedRule else rule for rule in specified_rules]


@dataclass(frozen=True)
class Prepared:
    """A document that may be executed, or the errors that keep it from being."""

    document: DocumentNode | None
    errors: tuple[GraphQLError, ...]
    operations: Mapping[str | None, OperationDefinitionNode]
    outline: Outline | None = None
    size: int = 0
    costs: dict[Any, int] = field(default_factory=dict, compare=False, repr=False)
    """The costs computed so far (`cost_of`)."""
    ready: dict[None, Any] = field(default_factory=dict, compare=False, repr=False)
    """What answers the only operation without looking at it again (`resolvers.compiled.Ready`), once there is such a thing."""

    def operation(self, name: str | None) -> OperationDefinitionNode | None:
        """Give the operation of that name, or the only one when no name is given."""
        if name:
            return self.operations.get(name)
        return next(iter(self.operations.values())) if len(self.operations) == 1 else None


def prepare(
    schema: GraphQLSchema,
    text: str,
    *,
    limited: bool,
    variables: Mapping[str, Any] | None = None,
    operation: str | None = None,
) -> Prepared:
    """Parse and validate a text; `limited` says that it comes from a client and must keep the limits.

    With `variables` the cost of the operation is checked as well, before anything dear is done. Raises `TooComplex` for a document
    over a limit.
    """
    try:
        outline = outline_of(text, max_tokens=MAX_TOKENS if limited else None)
    except TooManyTokens as problem:
        raise TooComplex(f"the document has more than {MAX_TOKENS} tokens") from problem
    if outline is not None and limited:
        weigher = _Weigher(outline)
        weigher.check()
        if weigher.cycle is not None:
            return Prepared(None, (_cycle_error(text, weigher.cycle),), {})
        asked = outline.operation(operation)
        if variables is not None and asked is not None:
            check_cost(_Coster(schema, outline, asked, variables).cost())
    try:
        document = parse_quickly(text)
    except GraphQLSyntaxError as problem:
        return Prepared(None, (problem,), {})
    except RecursionError as problem:
        raise TooComplex(f"the document is deeper than {MAX_DEPTH} levels") from problem
    if "\\u" in text:
        _refuse_nul(document)
    if outline is None:
        return _without_outline(schema, document)
    errors = validate(schema, document, _RULES, max_errors=5)
    operations = {
        (node.name.value if node.name else None): node
        for node in document.definitions
        if isinstance(node, OperationDefinitionNode)
    }
    return Prepared(document, tuple(errors), operations, outline, outline.size)


def _without_outline(schema: GraphQLSchema, document: DocumentNode) -> Prepared:
    """Answer a text that the parser takes for a document and the outline doesn't: it defines types."""
    errors = validate(schema, document, [ExecutableDefinitionsRule], max_errors=5)
    if not errors:
        raise ValidationFailed("the document can't be read")
    return Prepared(None, tuple(errors), {})


def _cycle_error(text: str, cycle: tuple[Spread, ...]) -> GraphQLError:
    """Say what validation would say of a fragment that spreads itself."""
    names = [each.name for each in cycle]
    via = f" via {', '.join(repr(name) for name in names[:-1])}" if len(names) > 1 else ""
    return GraphQLError(
        f"Cannot spread fragment '{names[-1]}' within itself{via}.",
        source=Source(text),
        positions=[each.position for each in cycle],
    )


def check_cost(cost: int) -> None:
    """Refuse what costs too much."""
    if cost > MAX_COST:
        raise TooComplex(
            f"the cost of the document is {cost}; at most {MAX_COST} is allowed", details={"cost": cost}
        )


def _refuse_nul(document: DocumentNode) -> None:
    """Refuse NUL in the document's strings, where only an escape can put it; PostgreSQL stores none."""

    class Strings(Visitor):
        def enter_string_value(self, node: StringValueNode, *_args: Any) -> None:
            if "\x00" in node.value:
                raise ValidationFailed("a string must not hold NUL")

    visit(document, Strings())


class Documents:
    """Keep prepared documents by their text, the least recently used leaving first.

    Bounded in number, in the size of each text, and in what all of them weigh, so that distinct texts can't fill the memory.
    """

    def __init__(
        self,
        schema: GraphQLSchema,
        *,
        size: int = 1000,
        longest: int = 20_000,
        most_tokens: int = MAX_KEPT_TOKENS,
    ) -> None:
        self.schema = schema
        self._kept: OrderedDict[str, Prepared] = OrderedDict()
        self._size = size
        self._longest = longest
        self._most_tokens = most_tokens
        self._tokens = 0

    def __len__(self) -> int:
        """Give how many documents are kept."""
        return len(self._kept)

    @property
    def weight(self) -> int:
        """Give how many tokens the kept documents have together."""
        return self._tokens

    def get(
        self, text: str, variables: Mapping[str, Any] | None = None, operation: str | None = None
    ) -> Prepared:
        """Give the prepared document of a client's text. Raises `TooComplex`.

        With variables the cost of a text seen for the first time is checked before it is parsed; of a kept one it is not.
        """
        found = self._kept.get(text)
        if found is not None:
            self._kept.move_to_end(text)
            return found
        prepared = prepare(self.schema, text, limited=True, variables=variables, operation=operation)
        if len(text) <= self._longest:
            self._keep(text, prepared)
        return prepared

    def _keep(self, text: str, prepared: Prepared) -> None:
        self._kept[text] = prepared
        self._tokens += prepared.size
        while len(self._kept) > self._size or (self._tokens > self._most_tokens and len(self._kept) > 1):
            _, left = self._kept.popitem(last=False)
            self._tokens -= left.size


@dataclass(frozen=True, slots=True)
class _Weight:
    """What a selection holds: levels of fields below it, aliases, fields, and response keys with how often each stands there."""

    depth: int
    introspection_depth: int
    aliases: int
    fields: int
    keys: Counter[str]


# How many steps weighing may take: fields, and response keys that fragments hand on. Only fragments that use fragments come near.
_MAX_STEPS = 4 * MAX_FIELDS
_NOTHING = _Weight(0, 0, 0, 0, Counter())


class _Weigher:
    """Check depth, aliases, repeats and fields of a document, each fragment weighed once; note the first cycle of fragments."""

    def __init__(self, outline: Outline) -> None:
        self.outline = outline
        self.weights: dict[tuple[str, bool], _Weight] = {}
        self.path: list[Spread] = []
        self.cycle: tuple[Spread, ...] | None = None
        self.steps = 0

    def check(self) -> None:
        aliases = fields = 0
        for _, operation in self.outline.operations:
            weight = self._weigh(operation.below, False)
            aliases += weight.aliases
            fields += weight.fields
            if weight.depth > MAX_DEPTH:
                raise TooComplex(
                    f"the document is {weight.depth} levels deep; at most {MAX_DEPTH} are allowed"
                )
            if weight.introspection_depth > MAX_INTROSPECTION_DEPTH:
                raise TooComplex(f"introspection is deeper than {MAX_INTROSPECTION_DEPTH} levels")
        if aliases > MAX_ALIASES:
            raise TooComplex(f"the document has {aliases} aliases; at most {MAX_ALIASES} are allowed")
        if fields > MAX_FIELDS:
            raise TooComplex(f"the document asks for {fields} fields; at most {MAX_FIELDS} are allowed")
        # Fragments that no operation uses are checked too, for cycles and repeats: validation would walk them.
        for name in self.outline.fragments:
            self._part(Spread(name, 0), False)

    def _weigh(self, selections: Selections, introspection: bool) -> _Weight:
        depth = deep = aliases = fields = 0
        keys: Counter[str] = Counter()
        for node in selections:
            self.steps += 1
            if isinstance(node, OutlineField):
                keys[node.key or node.name] += 1
                inside = introspection or node.name in _INTROSPECTION
                below = self._weigh(node.below, inside) if node.below is not None else _NOTHING
                fields += 1 + below.fields
                if inside:
                    deep = max(deep, 1 + below.introspection_depth)
                else:
                    depth = max(depth, 1 + below.depth)
                    deep = max(deep, below.introspection_depth)
                    aliases += (1 if node.is_alias else 0) + below.aliases
            else:
                part = self._part(node, introspection)
                depth = max(depth, part.depth)
                deep = max(deep, part.introspection_depth)
                aliases += part.aliases
                fields += part.fields
                self.steps += len(part.keys)
                if self.steps > _MAX_STEPS:
                    raise TooComplex("the fragments of the document hold too many fields of one another")
                keys.update(part.keys)
        if keys and max(keys.values()) > MAX_REPEATS:
            key, times = keys.most_common(1)[0]
            raise TooComplex(
                f"{key} stands {times} times in one selection; at most {MAX_REPEATS} are allowed"
            )
        return _Weight(depth, deep, aliases, fields, keys)

    def _part(self, node: Inline | Spread, introspection: bool) -> _Weight:
        if isinstance(node, Inline):
            return self._weigh(node.below, introspection)
        known = self.weights.get((node.name, introspection))
        if known is not None:
            return known
        fragment = self.outline.fragments.get(node.name)
        if fragment is None:
            return _NOTHING  # validation reports it
        open_at = next((at for at, spread in enumerate(self.path) if spread.name == node.name), None)
        if open_at is not None:
            if self.cycle is None:
                self.cycle = (*self.path[open_at + 1 :], node)
            return _NOTHING
        if len(self.path) >= _LONGEST_CHAIN:
            raise TooComplex(f"fragments use each other in a chain of more than {_LONGEST_CHAIN}")
        self.path.append(node)
        weight = self._weigh(fragment.below, introspection)
        self.path.pop()
        self.weights[node.name, introspection] = weight
        return weight


# How many costs of a document are kept, by the numbers among its variables.
_MOST_COSTS = 100


def cost_of(
    schema: GraphQLSchema,
    prepared: Prepared,
    operation: OperationDefinitionNode,
    variables: Mapping[str, Any],
) -> int:
    """Compute the static cost of an operation: objects 1, a list multiplies by its size, leaves and introspection 0.

    The size is the list's `limit`, `first` or `per_page` (of the list itself, or of the page or connection it is the list of), its
    default, or 10.
    """
    assert prepared.outline is not None
    name = operation.name.value if operation.name else None
    # Nothing but whole numbers can be the size of a list.
    key = (name, *[item for item in variables.items() if type(item[1]) is int])
    cost = prepared.costs.get(key)
    if cost is None:
        found = prepared.outline.operation(name)
        cost = _Coster(schema, prepared.outline, found, variables).cost() if found is not None else 0
        if len(prepared.costs) < _MOST_COSTS:
            prepared.costs[key] = cost
    return cost


class _Coster:
    """Add up the cost of an operation; what the schema doesn't know costs nothing, and validation reports it."""

    def __init__(
        self,
        schema: GraphQLSchema,
        outline: Outline,
        operation: OutlineOperation,
        variables: Mapping[str, Any],
    ) -> None:
        self.schema = schema
        self.fragments = outline.fragments
        self.operation = operation
        self.variables = variables
        self.known: dict[tuple[str, str, int | None], int] = {}

    def cost(self) -> int:
        root = {
            "query": self.schema.query_type,
            "mutation": self.schema.mutation_type,
            "subscription": self.schema.subscription_type,
        }[self.operation.kind]
        return self._of(root, self.operation.below, None) if root is not None else 0

    def _of(self, type_: GraphQLObjectType, selections: Selections, size: int | None) -> int:
        total = 0
        for node in selections:
            if isinstance(node, OutlineField):
                total += self._field(type_, node, size)
            elif isinstance(node, Inline):
                total += self._of(self._narrowed(type_, node.condition), node.below, size)
            else:
                total += self._fragment(type_, node.name, size)
        return total

    def _fragment(self, type_: GraphQLObjectType, name: str, size: int | None) -> int:
        key = (type_.name, name, size)
        if key not in self.known:
            fragment = self.fragments.get(name)
            if fragment is None:
                return 0
            self.known[key] = self._of(self._narrowed(type_, fragment.condition), fragment.below, size)
        return self.known[key]

    def _narrowed(self, type_: GraphQLObjectType, condition: str) -> GraphQLObjectType:
        found = self.schema.get_type(condition) if condition else None
        return found if isinstance(found, GraphQLObjectType) else type_

    def _field(self, type_: GraphQLObjectType, node: OutlineField, size: int | None) -> int:
        field = type_.fields.get(node.name)
        if field is None or node.below is None:
            return 0  # `__typename`, introspection, a leaf
        target = get_named_type(field.type)
        if not is_object_type(target):
            return 1
        assert isinstance(target, GraphQLObjectType)
        bare = field.type.of_type if is_non_null_type(field.type) else field.type
        own = self._size(field, node)
        if not is_list_type(bare):
            # A page or connection: its size is that of the list inside.
            return 1 + self._of(target, node.below, own)
        times = own if own is not None else size if size is not None else DEFAULT_LIST_SIZE
        return times * (1 + self._of(target, node.below, None))

    def _size(self, field: Any, node: OutlineField) -> int | None:
        for name in SIZE_ARGUMENTS:
            described = field.args.get(name)
            if described is None:
                continue
            value = self._value(node.sizes.get(name))
            if value is None:
                default = described.default_value
                value = default if isinstance(default, int) else DEFAULT_LIST_SIZE
            return max(0, value)
        return None

    def _value(self, given: Given | None) -> int | None:
        if given is None or given.variable is None:
            return given.number if given is not None else None
        value = self.variables.get(given.variable)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        return self.operation.defaults.get(given.variable)
