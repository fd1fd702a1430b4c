"""The rules that validate a document: those of the specification, two of them replaced."""

from __future__ import annotations

from graphql import ASTValidationRule, GraphQLError, specified_rules
from graphql.validation import OverlappingFieldsCanBeMergedRule, ValuesOfCorrectTypeRule

from kernel.errors import ValidationFailed
from schema.field_merging import FieldsMergeRule


class LiteralsRule(ValuesOfCorrectTypeRule):
    """Report a literal that its type refuses as the domain's error, as the same value in a variable is."""

    def report_error(self, error: GraphQLError) -> None:
        """Report an error with its cause."""
        error.original_error = ValidationFailed(error.message)
        super().report_error(error)


_REPLACED_RULES: dict[type[ASTValidationRule], type[ASTValidationRule]] = {
    OverlappingFieldsCanBeMergedRule: FieldsMergeRule,
    ValuesOfCorrectTypeRule: LiteralsRule,
}
RULES = [_REPLACED_RULES.get(rule, rule) for rule in specified_rules]
