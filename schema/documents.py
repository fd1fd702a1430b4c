"""Prepare documents: parse, weigh, validate, once a text.

The limits of decisions section 2 are checked before validation, by walks that are linear in the text however often fragments are
reused: what a fragment holds is computed once. Tokens are counted by the parser itself.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLSyntaxError,
    InlineFragmentNode,
    IntValueNode,
    OperationDefinitionNode,
    OperationType,
    SelectionSetNode,
    StringValueNode,
    VariableNode,
    Visitor,
    get_named_type,
    is_list_type,
    is_non_null_type,
    is_object_type,
    parse,
    validate,
    visit,
)

from kernel.errors import TooComplex, ValidationFailed

MAX_DEPTH = 12
MAX_ALIASES = 100
MAX_TOKENS = 2000
MAX_REPEATS = 50
MAX_COST = 10_000
MAX_INTROSPECTION_DEPTH = 20
DEFAULT_LIST_SIZE = 10
SIZE_ARGUMENTS = ("limit", "first", "per_page")
_INTROSPECTION = ("__schema", "__type")


@dataclass(frozen=True)
class Prepared:
    """A document that may be executed, or the errors that keep it from being."""

    document: DocumentNode | None
    errors: tuple[GraphQLError, ...]
    operations: Mapping[str | None, OperationDefinitionNode]

    def operation(self, name: str | None) -> OperationDefinitionNode | None:
        """Give the operation of that name, or the only one when no name is given."""
        if name:
            return self.operations.get(name)
        return next(iter(self.operations.values())) if len(self.operations) == 1 else None


def prepare(schema: GraphQLSchema, text: str, *, limited: bool) -> Prepared:
    """Parse and validate a text; `limited` says that it comes from a client and must keep the limits.

    Raises `TooComplex` for a document over a limit.
    """
    try:
        document = parse(text, no_location=False, max_tokens=MAX_TOKENS if limited else None)
    except GraphQLSyntaxError as problem:
        if "tokens" in problem.message and "Parsing aborted" in problem.message:
            raise TooComplex(f"the document has more than {MAX_TOKENS} tokens") from problem
        return Prepared(None, (problem,), {})
    except RecursionError as problem:
        raise TooComplex(f"the document is deeper than {MAX_DEPTH} levels") from problem
    if "\\u" in text:
        _refuse_nul(document)
    if limited:
        _Weigher(schema, document).check()
    errors = validate(schema, document, max_errors=5)
    operations = {
        (node.name.value if node.name else None): node
        for node in document.definitions
        if isinstance(node, OperationDefinitionNode)
    }
    return Prepared(document, tuple(errors), operations)


def _refuse_nul(document: DocumentNode) -> None:
    """Refuse NUL in the document's strings, where only an escape can put it; PostgreSQL stores none."""

    class Strings(Visitor):
        def enter_string_value(self, node: StringValueNode, *_args: Any) -> None:
            if "\x00" in node.value:
                raise ValidationFailed("a string must not hold NUL")

    visit(document, Strings())


class Documents:
    """Keep prepared documents by their text, the least recently used leaving first.

    Bounded in number and in the size of each text, so that distinct texts can't fill the memory.
    """

    def __init__(self, schema: GraphQLSchema, *, size: int = 1000, longest: int = 20_000) -> None:
        self.schema = schema
        self._kept: OrderedDict[str, Prepared] = OrderedDict()
        self._size = size
        self._longest = longest

    def get(self, text: str) -> Prepared:
        """Give the prepared document of a client's text. Raises `TooComplex`."""
        found = self._kept.get(text)
        if found is not None:
            self._kept.move_to_end(text)
            return found
        prepared = prepare(self.schema, text, limited=True)
        if len(text) <= self._longest:
            self._kept[text] = prepared
            if len(self._kept) > self._size:
                self._kept.popitem(last=False)
        return prepared


@dataclass(frozen=True)
class _Weight:
    """What a selection holds: levels of fields below it, aliases, and response keys with how often each stands there."""

    depth: int
    introspection_depth: int
    aliases: int
    keys: Counter[str]


_NOTHING = _Weight(0, 0, 0, Counter())


class _Weigher:
    """Check depth, aliases and repeats of a document, each fragment weighed once."""

    def __init__(self, schema: GraphQLSchema, document: DocumentNode) -> None:
        self.schema = schema
        self.document = document
        self.fragments = {
            node.name.value: node for node in document.definitions if isinstance(node, FragmentDefinitionNode)
        }
        self.weights: dict[tuple[str, bool], _Weight] = {}
        self.open: set[str] = set()

    def check(self) -> None:
        aliases = 0
        for node in self.document.definitions:
            if isinstance(node, OperationDefinitionNode):
                weight = self._weigh(node.selection_set, False)
                aliases += weight.aliases
                if weight.depth > MAX_DEPTH:
                    raise TooComplex(
                        f"the document is {weight.depth} levels deep; at most {MAX_DEPTH} are allowed"
                    )
                if weight.introspection_depth > MAX_INTROSPECTION_DEPTH:
                    raise TooComplex(f"introspection is deeper than {MAX_INTROSPECTION_DEPTH} levels")
        if aliases > MAX_ALIASES:
            raise TooComplex(f"the document has {aliases} aliases; at most {MAX_ALIASES} are allowed")

    def _weigh(self, selections: SelectionSetNode, introspection: bool) -> _Weight:
        depth = deep = aliases = 0
        keys: Counter[str] = Counter()
        for node in selections.selections:
            if isinstance(node, FieldNode):
                key = (node.alias or node.name).value
                keys[key] += 1
                inside = introspection or node.name.value in _INTROSPECTION
                below = self._weigh(node.selection_set, inside) if node.selection_set else _NOTHING
                if inside:
                    deep = max(deep, 1 + below.introspection_depth)
                else:
                    depth = max(depth, 1 + below.depth)
                    deep = max(deep, below.introspection_depth)
                    aliases += (1 if node.alias else 0) + below.aliases
            else:
                part = self._part(node, introspection)
                depth = max(depth, part.depth)
                deep = max(deep, part.introspection_depth)
                aliases += part.aliases
                keys.update(part.keys)
        if keys and max(keys.values()) > MAX_REPEATS:
            key, times = keys.most_common(1)[0]
            raise TooComplex(
                f"{key} stands {times} times in one selection; at most {MAX_REPEATS} are allowed"
            )
        return _Weight(depth, deep, aliases, keys)

    def _part(self, node: Any, introspection: bool) -> _Weight:
        if isinstance(node, InlineFragmentNode):
            return self._weigh(node.selection_set, introspection)
        assert isinstance(node, FragmentSpreadNode)
        name = node.name.value
        known = self.weights.get((name, introspection))
        if known is not None:
            return known
        fragment = self.fragments.get(name)
        if fragment is None or name in self.open:
            return _NOTHING  # validation reports an unknown fragment or a cycle
        self.open.add(name)
        weight = self._weigh(fragment.selection_set, introspection)
        self.open.discard(name)
        self.weights[name, introspection] = weight
        return weight


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
    assert prepared.document is not None
    fragments = {
        node.name.value: node
        for node in prepared.document.definitions
        if isinstance(node, FragmentDefinitionNode)
    }
    return _Coster(schema, fragments, operation, variables).cost()


class _Coster:
    def __init__(
        self,
        schema: GraphQLSchema,
        fragments: Mapping[str, FragmentDefinitionNode],
        operation: OperationDefinitionNode,
        variables: Mapping[str, Any],
    ) -> None:
        self.schema = schema
        self.fragments = fragments
        self.operation = operation
        self.variables = variables
        self.defaults = {
            node.variable.name.value: node.default_value for node in operation.variable_definitions or ()
        }
        self.known: dict[tuple[str, str, int | None], int] = {}

    def cost(self) -> int:
        root = {
            OperationType.QUERY: self.schema.query_type,
            OperationType.MUTATION: self.schema.mutation_type,
            OperationType.SUBSCRIPTION: self.schema.subscription_type,
        }[self.operation.operation]
        return self._of(root, self.operation.selection_set, None) if root is not None else 0

    def _of(self, type_: GraphQLObjectType, selections: SelectionSetNode, size: int | None) -> int:
        total = 0
        for node in selections.selections:
            if isinstance(node, FieldNode):
                total += self._field(type_, node, size)
            elif isinstance(node, InlineFragmentNode):
                total += self._of(self._narrowed(type_, node.type_condition), node.selection_set, size)
            elif isinstance(node, FragmentSpreadNode):
                total += self._fragment(type_, node.name.value, size)
        return total

    def _fragment(self, type_: GraphQLObjectType, name: str, size: int | None) -> int:
        key = (type_.name, name, size)
        if key not in self.known:
            fragment = self.fragments[name]
            self.known[key] = self._of(
                self._narrowed(type_, fragment.type_condition), fragment.selection_set, size
            )
        return self.known[key]

    def _narrowed(self, type_: GraphQLObjectType, condition: Any) -> GraphQLObjectType:
        if condition is None:
            return type_
        found = self.schema.get_type(condition.name.value)
        return found if isinstance(found, GraphQLObjectType) else type_

    def _field(self, type_: GraphQLObjectType, node: FieldNode, size: int | None) -> int:
        field = type_.fields.get(node.name.value)
        if field is None or node.selection_set is None:
            return 0  # `__typename`, introspection, a leaf
        target = get_named_type(field.type)
        if not is_object_type(target):
            return 1
        assert isinstance(target, GraphQLObjectType)
        bare = field.type.of_type if is_non_null_type(field.type) else field.type
        own = self._size(field, node)
        if not is_list_type(bare):
            # A page or connection: its size is that of the list inside.
            return 1 + self._of(target, node.selection_set, own)
        times = own if own is not None else size if size is not None else DEFAULT_LIST_SIZE
        return times * (1 + self._of(target, node.selection_set, None))

    def _size(self, field: Any, node: FieldNode) -> int | None:
        for name in SIZE_ARGUMENTS:
            described = field.args.get(name)
            if described is None:
                continue
            given = next(
                (argument.value for argument in node.arguments or () if argument.name.value == name), None
            )
            value = self._value(given)
            if value is None:
                default = described.default_value
                value = default if isinstance(default, int) else DEFAULT_LIST_SIZE
            return max(0, value)
        return None

    def _value(self, node: Any) -> int | None:
        if isinstance(node, IntValueNode):
            return int(node.value) if len(node.value) < 20 else 10**20
        if isinstance(node, VariableNode):
            given = self.variables.get(node.name.value)
            if isinstance(given, int) and not isinstance(given, bool):
                return given
            return self._value(self.defaults.get(node.name.value))
        return None
