"""Define how settings are sought, ordered and changed."""

from __future__ import annotations

from enum import Enum

import strawberry
from strawberry import UNSET

from schema.inputs.given import given_field
from schema.scalars import Ident


@strawberry.input(description="A change of a setting.")
class SettingInput:
    """The new value."""

    value: str | None = given_field("The value as a text; null leaves it as it is.")


@strawberry.input(description="Narrows a list of settings; all that is given must hold.")
class SettingFilter:
    """Conditions on settings."""

    id: list[Ident] | None = strawberry.field(default=UNSET, description="Any of these settings.")
    name: list[str] | None = strawberry.field(default=UNSET, description="Any of these names.")
    section: list[str] | None = strawberry.field(default=UNSET, description="In any of these sections.")
    type: list[str] | None = strawberry.field(default=UNSET, description="Of any of these types.")
    value: list[str] | None = strawberry.field(default=UNSET, description="With any of these values.")
    description: list[str] | None = strawberry.field(default=UNSET, description="Exact description.")
    search: str | None = strawberry.field(
        default=UNSET, description="Part of the name or of the description."
    )


@strawberry.enum(description="Orders of a list of settings.")
class SettingSort(Enum):
    """Fields that settings are ordered by, ascending and descending; the number breaks ties."""

    SECTION_ASC = strawberry.enum_value("section", description="By section, lowest first.")
    SECTION_DESC = strawberry.enum_value("-section", description="By section, highest first.")
    NAME_ASC = strawberry.enum_value("name", description="By name, lowest first.")
    NAME_DESC = strawberry.enum_value("-name", description="By name, highest first.")
    ID_ASC = strawberry.enum_value("number", description="By number, lowest first.")
    ID_DESC = strawberry.enum_value("-number", description="By number, highest first.")
