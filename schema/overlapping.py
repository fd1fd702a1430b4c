"""Check that fields of one response key can be merged, in one walk over the merged fields instead of over pairs of them.

graphql-core compares every two fields of a key and every two fragments, which is quadratic: 2,000 tokens took 0.2 s, and gave up with
"Validation aborted" on documents that break no rule. Here all fields of a key are gathered first, each is compared with the first of
them, and what they ask below is gathered in turn (Simon Adameit's algorithm, as in graphql-java and Sangria). A set of fields is looked
at once, however many ways lead to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from graphql import (
    FieldNode,
    FragmentSpreadNode,
    GraphQLError,
    GraphQLField,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLOutputType,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionSetNode,
    ValidationContext,
    ValidationRule,
    get_named_type,
    is_composite_type,
    is_leaf_type,
    is_list_type,
    is_non_null_type,
    print_ast,
)

Parent: TypeAlias = GraphQLNamedType | None
# A field with the type it is asked of, and its definition where that type has it.
Found: TypeAlias = tuple[Parent, FieldNode, GraphQLField | None]
Groups: TypeAlias = dict[str, list[Found]]


class FieldsMergeRule(ValidationRule):
    """The rule "Field Selection Merging" of the GraphQL specification (5.3.2).

    Fragments that no operation uses are not looked at: another rule refuses them.
    """

    def __init__(self, context: ValidationContext) -> None:
        super().__init__(context)
        self._context = context
        self._seen: set[tuple[bool, frozenset[int]]] = set()
        self._arguments: dict[int, tuple[tuple[str, str], ...]] = {}
        self.steps = 0

    def enter_operation_definition(self, node: OperationDefinitionNode, *_args: Any) -> None:
        """Check all that hangs on an operation."""
        root = self._context.schema.get_root_type(node.operation)
        groups = self._gathered([(root, node.selection_set)])
        self._check(groups, (), same_parent=True)

    def _check(self, groups: Groups, path: tuple[str, ...], *, same_parent: bool) -> None:
        """Check gathered fields: under `same_parent` they can meet in one object, else they must only look alike."""
        for key, fields in groups.items():
            if not self._is_new(fields, same_parent):
                continue
            here = (*path, key)
            # Only fields that can meet in one object must be the same field.
            parts = self._meeting(fields) if same_parent else []
            problem = None
            for part in parts:
                problem = problem or self._difference(part)
            problem = problem or self._difference_of_shape(fields)
            if problem is not None:
                self._report(here, problem)
                continue
            if len(fields) == 1:
                here = ()  # what conflicts below stands in the braces of this one field: no need to name it
            if len(parts) == 1:
                self._check(self._below(parts[0]), here, same_parent=True)
                continue
            for part in parts:
                self._check(self._below(part), here, same_parent=True)
            self._check(self._below(fields), here, same_parent=False)

    def _is_new(self, fields: list[Found], same_parent: bool) -> bool:
        self.steps += len(fields)
        if len(fields) == 1 and fields[0][1].selection_set is None:
            return False
        key = (same_parent, frozenset(id(node) for _, node, _ in fields))
        if key in self._seen:
            return False
        self._seen.add(key)
        return True

    def _below(self, fields: list[Found]) -> Groups:
        return self._gathered(
            (get_named_type(definition.type) if definition is not None else None, node.selection_set)
            for _, node, definition in fields
            if node.selection_set is not None
        )

    def _gathered(self, sets: Iterable[tuple[Parent, SelectionSetNode]]) -> Groups:
        groups: Groups = {}
        spread: set[str] = set()
        for parent, selections in sets:
            self._gather(parent, selections, groups, spread)
        return groups

    def _gather(self, parent: Parent, selections: SelectionSetNode, groups: Groups, spread: set[str]) -> None:
        for node in selections.selections:
            if isinstance(node, FieldNode):
                definition = (
                    self._context.schema.get_field(parent, node.name.value)
                    if is_composite_type(parent)
                    else None
                )
                key = (node.alias or node.name).value
                groups.setdefault(key, []).append((parent, node, definition))
            elif isinstance(node, InlineFragmentNode):
                self._gather(self._named(node.type_condition) or parent, node.selection_set, groups, spread)
            elif isinstance(node, FragmentSpreadNode):
                self._gather_fragment(node.name.value, groups, spread)

    def _gather_fragment(self, name: str, groups: Groups, spread: set[str]) -> None:
        fragment = self._context.get_fragment(name)
        if fragment is None or name in spread:
            return
        spread.add(name)
        self._gather(self._named(fragment.type_condition), fragment.selection_set, groups, spread)

    def _named(self, condition: Any) -> Parent:
        return self._context.schema.get_type(condition.name.value) if condition is not None else None

    def _meeting(self, fields: list[Found]) -> list[list[Found]]:
        """Split fields into the sets whose parents can be one object: each object type with all that is no object type."""
        if len({id(parent) for parent, _, _ in fields}) == 1:
            return [fields]
        objects: dict[str, list[Found]] = {}
        others: list[Found] = []
        for found in fields:
            if isinstance(found[0], GraphQLObjectType):
                objects.setdefault(found[0].name, []).append(found)
            else:
                others.append(found)
        return [part + others for part in objects.values()] or [others]

    def _difference(self, fields: list[Found]) -> tuple[str, FieldNode, FieldNode] | None:
        """Say why fields of one object are not the same field."""
        _, first, _ = fields[0]
        for _, node, _ in fields[1:]:
            if node.name.value != first.name.value:
                why = f"'{first.name.value}' and '{node.name.value}' are different fields"
                return why, first, node
            has_arguments = node.arguments or first.arguments
            if has_arguments and self._arguments_of(node) != self._arguments_of(first):
                return "they have differing arguments", first, node
        return None

    def _arguments_of(self, node: FieldNode) -> tuple[tuple[str, str], ...]:
        known = self._arguments.get(id(node))
        if known is None:
            known = tuple(sorted((each.name.value, _written(each.value)) for each in node.arguments or ()))
            self._arguments[id(node)] = known
        return known

    def _difference_of_shape(self, fields: list[Found]) -> tuple[str, FieldNode, FieldNode] | None:
        """Say why the answers of fields would not look alike; looking alike is transitive, so the first stands for all."""
        known = [found for found in fields if found[2] is not None]
        for _, node, definition in known[1:]:
            first = known[0][2]
            assert first is not None
            assert definition is not None
            if first is not definition and _differ(first.type, definition.type):
                why = f"they return conflicting types '{first.type}' and '{definition.type}'"
                return why, known[0][1], node
        return None

    def _report(self, path: tuple[str, ...], problem: tuple[str, FieldNode, FieldNode]) -> None:
        why, first, second = problem
        reason = "".join(f"subfields '{key}' conflict because " for key in path[1:]) + why
        self.report_error(
            GraphQLError(
                f"Fields '{path[0]}' conflict because {reason}. Use different aliases on the fields to fetch both"
                " if this was intentional.",
                [first, second],
            )
        )


def _written(value: Any) -> str:
    """Write a value so that those that mean the same are the same: the order of an object's fields means nothing."""
    fields = getattr(value, "fields", None)
    if fields is not None:
        return "{" + ",".join(sorted(f"{each.name.value}:{_written(each.value)}" for each in fields)) + "}"
    values = getattr(value, "values", None)
    if values is not None:
        return "[" + ",".join(_written(each) for each in values) + "]"
    return print_ast(value)


def _differ(one: GraphQLOutputType, other: GraphQLOutputType) -> bool:
    for wraps in (is_list_type, is_non_null_type):
        if wraps(one) or wraps(other):
            if not (wraps(one) and wraps(other)):
                return True
            return _differ(one.of_type, other.of_type)  # type: ignore[union-attr]
    if is_leaf_type(one) or is_leaf_type(other):
        return one is not other
    return False
