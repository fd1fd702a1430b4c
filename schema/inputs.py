"""Inputs, and their optional fields, which distinguish an omitted field (UNSET) from null."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar, dataclass_transform

import strawberry
from strawberry import UNSET

from schema.fields import INTERNAL, TEXT_INTERNALLY

T = TypeVar("T")


@dataclass_transform(kw_only_default=True)
def input_type(cls: type[T]) -> type[T]:
    """Declare an input, which its docstring describes."""
    return strawberry.input(cls, description=" ".join((cls.__doc__ or "").split()))


def optional_field(description: str, *, internal: bool = False, text_internally: bool = False) -> Any:
    """Declare an optional input field, UNSET if omitted.

    An enum may be `text_internally`: the internal schema takes any text, and the domain reports a wrong one in the REST families' words.
    """
    metadata = {INTERNAL: internal, TEXT_INTERNALLY: text_internally}
    return strawberry.field(default=UNSET, description=description, metadata=metadata)


def optional_copies(object_type: Any, names: str | Iterable[str]) -> Callable[[type[T]], type[T]]:
    """Add optional fields with the types and descriptions of the fields of a type, which its own declarations replace.

    Fields are in the order of the names, a list or one text, and other ones of the input after them.
    """
    names = names.split() if isinstance(names, str) else names
    fields = {field.python_name: field for field in object_type.__strawberry_definition__.fields}

    def decorate(cls: type[T]) -> type[T]:
        own = cls.__annotations__
        cls.__annotations__ = dict.fromkeys(names) | own  # in the order of the names
        for name in names:
            if name not in own:
                cls.__annotations__[name] = fields[name].type_annotation.evaluate() | None
                setattr(cls, name, optional_field(fields[name].description))
        return cls

    return decorate


def provided_fields(input: Any) -> dict[str, Any]:
    """Return the fields of an input that are not UNSET, nested inputs included, as plain data for the domain."""
    return {
        name: _to_plain(value) for name in input.__dataclass_fields__ if (value := getattr(input, name)) is not UNSET
    }


def _to_plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_to_plain(item) for item in value]
    return provided_fields(value) if hasattr(value, "__strawberry_definition__") else value
