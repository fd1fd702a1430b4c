"""Inputs, and their optional fields, which distinguish an omitted field (UNSET) from null."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, TypeVar, dataclass_transform

import strawberry
from strawberry import UNSET
from strawberry.schema_directives import OneOf
from strawberry.types.arguments import InputContext
from strawberry.types.base import StrawberryList, StrawberryOptional, has_object_definition

from schema.declaration import declare
from schema.fields import INTERNAL, REQUIRED, TEXT_INTERNALLY

T = TypeVar("T")


@dataclass_transform(kw_only_default=True)
def input_type(cls: type[T]) -> type[T]:
    """Declare an input, which its docstring describes. A field is required, a `required_field` or an `optional_field`."""
    return built_of_provided(declare(cls, description=" ".join((cls.__doc__ or "").split()), is_input=True))


@dataclass_transform(kw_only_default=True)
def one_of_input(cls: type[T]) -> type[T]:
    """Declare an input of which exactly one field is provided."""
    description = " ".join((cls.__doc__ or "").split())
    return built_of_provided(declare(cls, description=description, is_input=True, directives=[OneOf()]))


def built_of_provided(cls: type[T]) -> type[T]:
    """Let an input be built of the fields that a request provides; Strawberry converts each field of the type, thirty of a product."""
    cls.__strawberry_definition__.from_input = _build_input  # type: ignore[attr-defined]
    return cls


def _build_input(cls: Any, value: Mapping[str, Any], context: InputContext) -> Any:
    """Return an input with these fields; the class has the defaults of the others, UNSET."""
    types = _converted_types(cls)
    input = cls.__new__(cls)
    for name, item in value.items():
        setattr(input, name, context.convert(item, types[name], name) if name in types else item)
    return input


@cache
def _converted_types(cls: type) -> dict[str, Any]:
    """Return the types of an input's fields whose values Strawberry converts: other inputs, and lists, which it copies."""
    definition = cls.__strawberry_definition__  # type: ignore[attr-defined]
    types = {field.python_name: field.resolve_type(type_definition=definition) for field in definition.fields}
    return {name: type_ for name, type_ in types.items() if _is_converted(type_)}


def _is_converted(type_: Any) -> bool:
    if isinstance(type_, StrawberryOptional):
        return _is_converted(type_.of_type)
    return isinstance(type_, StrawberryList) or has_object_definition(type_)


def optional_field(
    description: str, *, internal: bool = False, text_internally: bool = False, deprecated: str | None = None
) -> Any:
    """Declare an optional input field, UNSET if omitted; `deprecated` says what replaces it.

    An enum may be `text_internally`: the internal schema takes any text, and the domain reports a wrong one in the REST families' words.
    """
    metadata = {INTERNAL: internal, TEXT_INTERNALLY: text_internally}
    return strawberry.field(default=UNSET, description=description, metadata=metadata, deprecation_reason=deprecated)


def required_field(description: str) -> Any:
    """Declare a field of an input that no update shares, whose value is always required.

    It is non-null in the public schema. In the internal one it is optional: the domain reports a missing one in the REST families' words.
    """
    return strawberry.field(default=UNSET, description=description, metadata={INTERNAL: False, REQUIRED: True})


def optional_copies(object_type: Any, names: str | Iterable[str]) -> Callable[[type[T]], type[T]]:
    """Add optional fields with the types and descriptions of the fields of a type, which its own declarations replace.

    Fields are in the order of the names, a list or one text, and other ones of the input after them. Raise `TypeError` for a name that
    neither the type nor the input declares.
    """
    names = names.split() if isinstance(names, str) else names
    fields = {field.python_name: field for field in object_type.__strawberry_definition__.fields}

    def decorate(cls: type[T]) -> type[T]:
        own = cls.__annotations__
        if missing := [name for name in names if name not in own and name not in fields]:
            raise TypeError(
                f"{cls.__name__} has the fields {', '.join(missing)}, which {object_type.__name__} doesn't declare:"
                " declare them there, or in the input itself"
            )
        cls.__annotations__ = dict.fromkeys(names) | own  # in the order of the names
        for name in names:
            if name not in own:
                cls.__annotations__[name] = fields[name].type_annotation.evaluate() | None
                setattr(cls, name, optional_field(fields[name].description))
        return cls

    return decorate


def provided_fields(input: Any) -> dict[str, Any]:
    """Return the fields of an input that are not UNSET, nested inputs included, as plain data for the domain."""
    return {name: _to_plain(value) for name, value in vars(input).items() if value is not UNSET}


def _to_plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_to_plain(item) for item in value]
    return provided_fields(value) if hasattr(value, "__strawberry_definition__") else value
