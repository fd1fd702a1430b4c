"""Write documents that execute_query for everything a type has."""

from __future__ import annotations

from graphql import (
    GraphQLObjectType,
    GraphQLSchema,
    get_named_type,
    get_nullable_type,
    is_list_type,
    is_non_null_type,
    is_object_type,
    is_required_argument,
)


def select_all_fields(type_: GraphQLObjectType, depth: int) -> str:
    """Select all fields of a type that need no argument, relations down to a depth."""
    parts: list[str] = []
    for name, field in type_.fields.items():
        if any(is_non_null_type(argument.type) and argument.default_value is None for argument in field.args.values()):
            continue
        target = get_named_type(field.type)
        if not is_object_type(target):
            parts.append(name)
        elif depth > 1:
            arguments = "(limit: 2)" if "limit" in field.args else ""
            parts.append(f"{name}{arguments} {{ {select_all_fields(target, depth - 1)} }}")
    return " ".join(parts)


def single_record_fields(schema: GraphQLSchema) -> list[str]:
    """List the root fields that read one record by its id."""
    assert schema.query_type is not None
    return [
        name
        for name, field in schema.query_type.fields.items()
        if set(field.args) == {"id"} and is_object_type(get_nullable_type(field.type))
    ]


def list_fields(schema: GraphQLSchema) -> list[str]:
    """List the root fields that read a plain list and need no argument, nor one of several."""
    assert schema.query_type is not None
    names = []
    for name, field in schema.query_type.fields.items():
        if name == "payment_options" or any(is_required_argument(argument) for argument in field.args.values()):
            continue
        if is_list_type(get_nullable_type(field.type)) and is_object_type(get_named_type(field.type)):
            names.append(name)
    return names


def result_fields(schema: GraphQLSchema) -> list[str]:
    """List the root fields that need no argument and read neither a list nor a page of records."""
    assert schema.query_type is not None
    return [
        name
        for name, field in schema.query_type.fields.items()
        if is_object_type(get_nullable_type(field.type))
        and not name.endswith(("_page", "_connection"))
        and set(field.args) != {"id"}
        and not any(is_required_argument(argument) for argument in field.args.values())
    ]


def full_selection(schema: GraphQLSchema, name: str, depth: int = 2) -> str:
    """Select everything below a root field."""
    assert schema.query_type is not None
    target = get_named_type(schema.query_type.fields[name].type)
    assert isinstance(target, GraphQLObjectType)
    return select_all_fields(target, depth)
