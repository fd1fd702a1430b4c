"""Declare classes as GraphQL types: their annotations and Strawberry fields become the fields of Strawberry's definition of a type.

Strawberry's own decorators do the same, and make each class a dataclass too. No type here is instantiated by its constructor or
compared, and to generate those methods for 700 classes took a fifth of a start.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import MISSING
from inspect import get_annotations
from typing import Any, TypeVar

from strawberry.annotation import StrawberryAnnotation
from strawberry.types.base import StrawberryObjectDefinition
from strawberry.types.field import StrawberryField

T = TypeVar("T")
_DEFINITION = "__strawberry_definition__"


def declare(
    cls: type[T],
    name: str = "",
    description: str | None = None,
    *,
    is_input: bool = False,
    is_interface: bool = False,
    directives: Iterable[object] = (),
) -> type[T]:
    """Declare a class as a type, by default of its own name, with the fields of its bases and then its own, in their order.

    The default of an input's field becomes the attribute of the class.
    """
    bases = [vars(base)[_DEFINITION] for base in cls.__mro__[1:] if _DEFINITION in vars(base)]
    fields = {field.python_name: field for definition in reversed(bases) for field in definition.fields}
    fields |= {field.python_name: field for field in _own_fields(cls)}
    cls.__strawberry_definition__ = StrawberryObjectDefinition(  # type: ignore[attr-defined]
        name=name or cls.__name__,
        is_input=is_input,
        is_interface=is_interface,
        origin=cls,
        description=description,
        interfaces=[definition for definition in bases if definition.is_interface],
        extend=False,
        directives=tuple(directives),
        is_type_of=None,
        resolve_type=getattr(cls, "resolve_type", None),
        fields=list(fields.values()),
    )
    return cls


def _own_fields(cls: type) -> Iterator[StrawberryField]:
    names, annotations, attributes = vars(sys.modules[cls.__module__]), get_annotations(cls), dict(vars(cls))
    for name, annotation in annotations.items():
        field = attributes.get(name, MISSING)
        if not isinstance(field, StrawberryField):
            field = StrawberryField(default=field)
        field.type_annotation = StrawberryAnnotation(_evaluated(annotation, names), namespace=names)
        yield _own_field(field, name, cls)
    for name, field in attributes.items():
        if isinstance(field, StrawberryField) and name not in annotations:
            assert field.base_resolver is not None, name
            field.type_annotation = field.base_resolver.type_annotation
            yield _own_field(field, name, cls)


def _own_field(field: StrawberryField, name: str, cls: type) -> StrawberryField:
    field.python_name, field.origin = name, cls
    if field.default is not MISSING:
        setattr(cls, name, field.default)
    elif name in vars(cls):
        delattr(cls, name)
    return field


def _evaluated(annotation: Any, names: dict[str, Any]) -> Any:
    """Return the type of an annotation, or its text when it names a class defined later: Strawberry parses a text several times."""
    if isinstance(annotation, str):
        with suppress(NameError):
            return eval(annotation, names)  # noqa: S307  # of this program
    return annotation
