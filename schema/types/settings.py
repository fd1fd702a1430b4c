"""Define store settings as records."""

from __future__ import annotations

from auth.access import Access
from schema.enums import SettingType
from schema.fields import INHERITED, object_type, output_field
from schema.scalars import ID, BigInt

READ_SETTINGS = Access(privileges=("view_settings",))


@object_type("SettingVariant", access=INHERITED)
class SettingVariantObject:
    """An allowed value of a setting."""

    value: str = output_field("The value.")
    name: str = output_field("The display name.")


@object_type("Setting", access=READ_SETTINGS)
class SettingObject:
    """A setting of the store. Readable by administrators with `view_settings`."""

    id: ID = output_field("The unique ID (UUID).")
    number: BigInt = output_field("The legacy numeric ID (`object_id`).", internal=True)
    name: str = output_field("The name.")
    section: str = output_field("The settings section.")
    type: SettingType = output_field("The type of its value.")
    value: str = output_field(
        "The value as a string: `Y` or `N` for booleans, digits for integers; secrets are masked as `****`."
    )
    description: str = output_field("The description.")
    variants: list[SettingVariantObject] = output_field("The allowed values, if restricted.")


@object_type("SettingPage", access=INHERITED)
class SettingPageObject:
    """A page of settings with offset pagination."""

    items: list[SettingObject] = output_field("The settings of this page.")
    total: int = output_field("The total number of matching settings.")
    page: int = output_field("The page number, starting at 1.")
    per_page: int = output_field("The page size.")
