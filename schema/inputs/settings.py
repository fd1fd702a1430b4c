"""Define the filter, sort orders and input of settings."""

from __future__ import annotations

from enum import Enum

import strawberry

from schema.enums import SettingType
from schema.inputs.optional_fields import input_type, optional_field
from schema.scalars import ID


@input_type
class SettingInput:
    """A new value for a setting."""

    value: str | None = optional_field("The value as a string; null leaves it unchanged.")


@input_type
class SettingFilter:
    """Filters a list of settings; all conditions must match."""

    id: list[ID] | None = optional_field("Matches any of these IDs.")
    name: list[str] | None = optional_field("Matches any of these names.")
    section: list[str] | None = optional_field("Matches any of these sections.")
    type: list[SettingType] | None = optional_field("Matches any of these types.", text_internally=True)
    value: list[str] | None = optional_field("Matches any of these values.")
    description: list[str] | None = optional_field("Matches any of these descriptions exactly.")
    search: str | None = optional_field("Matches part of the name or description.")


@strawberry.enum(description="Sort orders of a list of settings.")
class SettingSort(Enum):
    """The sort orders of settings; ties are broken by numeric ID."""

    SECTION_ASC = strawberry.enum_value("section", description="By section, ascending.")
    SECTION_DESC = strawberry.enum_value("-section", description="By section, descending.")
    NAME_ASC = strawberry.enum_value("name", description="By name, ascending.")
    NAME_DESC = strawberry.enum_value("-name", description="By name, descending.")
    ID_ASC = strawberry.enum_value("number", description="By numeric ID, ascending.")
    ID_DESC = strawberry.enum_value("-number", description="By numeric ID, descending.")
