"""Define the store itself."""

from __future__ import annotations

from auth.access import Access
from schema.fields import part
import strawberry
from schema.scalars import Ident, Json

_ANY = Access(app_scope=None, vendor=True, customer=True, storefront="storefront:read")


@part("Store", "The store that answers.", access=Access(anonymous=True, note="What it shows is public."))
class Store:
    """The store in scope."""

    id: Ident = strawberry.field(description="The UUID, as sent in `X-Tenant-ID`.")
    name: str = strawberry.field(description="The name.")
    currency: str = strawberry.field(description="The currency of all its money, ISO 4217.")
    status: str = strawberry.field(description="`A` active, `M` in maintenance.")
    settings: Json | None = strawberry.field(description="The store's settings; only for administrators with `view_settings`.")
