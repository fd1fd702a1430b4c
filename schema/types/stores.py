"""Define the store itself."""

from __future__ import annotations

import strawberry

from auth.access import Access
from schema.fields import part
from schema.scalars import Ident, Json


@part("Store", "The store that answers.", access=Access(anonymous=True, note="What it shows is public."))
class StoreObject:
    """The store in scope."""

    id: Ident = strawberry.field(description="The UUID, as sent in `X-Tenant-ID`.")
    name: str = strawberry.field(description="The name.")
    currency: str = strawberry.field(description="The currency of all its money, ISO 4217.")
    status: str = strawberry.field(description="`A` active, `M` in maintenance.")
    settings: Json | None = strawberry.field(
        description="Its settings, secrets masked; null without `view_settings`."
    )
