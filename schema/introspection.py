"""Answer introspection as graphql-core does."""

from __future__ import annotations

from graphql import introspection_types, is_object_type
from graphql.type.introspection import TypeFields


def restore_is_one_of() -> None:
    """Undo what Strawberry does to all schemas of the process whenever it builds one.

    Its resolver of `isOneOf` fails for lists and non-null types, and is false for what is no input object.
    """
    introspected = introspection_types["__Type"]
    assert is_object_type(introspected)
    introspected.fields["isOneOf"].resolve = TypeFields.is_one_of
