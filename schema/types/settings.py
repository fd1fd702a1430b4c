"""Define what a store can set, as records."""

from __future__ import annotations

import strawberry

from auth.access import Access
from schema.fields import INHERITED, part
from schema.scalars import BigInt, Ident

READ_SETTINGS = Access(privileges=("view_settings",))


@part("SettingVariant", "A value that a setting may have.", access=INHERITED)
class SettingVariantObject:
    """One of a few."""

    value: str = strawberry.field(description="The value.")
    name: str = strawberry.field(description="What it is called.")


@part(
    "Setting",
    "What a store can set about itself. Read by administrators with `view_settings`.",
    access=READ_SETTINGS,
)
class SettingObject:
    """One setting of the store."""

    id: Ident = strawberry.field(description="The UUID.")
    number: BigInt = strawberry.field(
        description="The legacy number (`object_id`).", metadata={"vitrine.internal": True}
    )
    name: str = strawberry.field(description="The name.")
    section: str = strawberry.field(description="Where people look for it.")
    type: str = strawberry.field(
        description="`C` yes or no, `S` one of its variants, `U` a whole number, `I` a text, `P` a secret."
    )
    value: str = strawberry.field(
        description="The value as a text: `Y` or `N`, digits; secrets are masked `****`."
    )
    description: str = strawberry.field(description="What it does.")
    variants: list[SettingVariantObject] = strawberry.field(
        description="The values it may have, where they are few."
    )


@part("SettingPage", "A numbered page of settings, with their number.", access=INHERITED)
class SettingPageObject:
    """A page."""

    items: list[SettingObject] = strawberry.field(description="The settings of the page.")
    total: int = strawberry.field(description="How many there are.")
    page: int = strawberry.field(description="The page's number, from 1.")
    per_page: int = strawberry.field(description="How many a page holds.")
