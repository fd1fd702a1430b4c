"""The rules that validate a document: those of the specification, two of them replaced."""

from __future__ import annotations

import re

from graphql import (
    SKIP,
    ASTValidationRule,
    GraphQLError,
    GraphQLInputType,
    ListValueNode,
    ObjectValueNode,
    ValueNode,
    VisitorAction,
    specified_rules,
)
from graphql.utilities.validate_input_value import validate_input_literal
from graphql.validation import OverlappingFieldsCanBeMergedRule, ValuesOfCorrectTypeRule

from kernel.errors import ValidationFailed
from kernel.text import with_json_words
from resolvers.engine.field_merging import FieldsMergeRule

# graphql-core repeats the whole of an input object that lacks a field or has an unknown one, and what it expected to be a text.
_REPEATED_VALUES = re.compile(r"(?:(?:, found|(?<=\?) Found): [\[{]|(?<=non string value): ).*", re.DOTALL)


def without_values(message: str) -> str:
    """Return an error message of graphql-core without values that may be passwords, of an input object or text: clients log messages.

    Other values are in the words of JSON.
    """
    return with_json_words(_REPEATED_VALUES.sub(lambda values: "" if values[0].startswith(" ") else ".", message))


class LiteralsRule(ValuesOfCorrectTypeRule):
    """Report a literal that its type refuses as the domain's error, as the same value in a variable is, with its place in the document."""

    def is_valid_value_node(self, node: ValueNode, input_type: GraphQLInputType | None) -> VisitorAction:
        """Validate a literal; scalars refuse values without knowing where they stand."""

        def report(error: GraphQLError, path: list[str | int]) -> None:
            if error.locations is None:
                error = GraphQLError(error.message, _value_at(node, path))
            self.report_error(error)

        if input_type:
            validate_input_literal(node, input_type, report, None, None, self.context.hide_suggestions)
        return SKIP  # graphql-core has validated what is within

    def report_error(self, error: GraphQLError) -> None:
        """Report an error with its cause."""
        error.message = without_values(error.message)
        error.original_error = ValidationFailed(error.message)
        super().report_error(error)


def _value_at(node: ValueNode, path: list[str | int]) -> ValueNode:
    """Return the part of a literal at a path; a single value in place of a list is its first item."""
    for key in path:
        if isinstance(node, ListValueNode):
            node = node.values[int(key)]
        elif isinstance(node, ObjectValueNode):
            node = next(field.value for field in node.fields if field.name.value == key)
    return node


_REPLACED_RULES: dict[type[ASTValidationRule], type[ASTValidationRule]] = {
    OverlappingFieldsCanBeMergedRule: FieldsMergeRule,
    ValuesOfCorrectTypeRule: LiteralsRule,
}


RULES = [_REPLACED_RULES.get(rule, rule) for rule in specified_rules]
