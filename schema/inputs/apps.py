"""Define the inputs of apps and storefront keys."""

from __future__ import annotations

from schema.enums import AppMode
from schema.inputs.optional_fields import input_type, optional_field


@input_type
class AppInput:
    """An app. `name`, `redirect_uris` and `scopes` are required."""

    name: str | None = optional_field("The display name shown on the consent page.")
    redirect_uris: list[str] | None = optional_field(
        "The allowed redirect URIs, 1 to 10: https, or http on localhost; compared exactly."
    )
    scopes: list[str] | None = optional_field("The scopes the app may request: `read_orders`, `write_products`, etc.")
    mode: AppMode | None = optional_field(
        "The mode, `live` by default; part of the issued tokens.", text_internally=True
    )


@input_type
class InstalledAppInput:
    """Changes to an installed app."""

    scopes: list[str] | None = optional_field("The remaining scopes, a subset of the approved ones.")
    rate_limit: int | None = optional_field("The rate limit, in requests per minute, 1 to 100000.")


@input_type
class StorefrontKeyInput:
    """A storefront API key."""

    name: str | None = optional_field("The name that describes the key's purpose.")
    scopes: list[str] | None = optional_field(
        "Any of `storefront:read`, `storefront:cart`, `storefront:checkout`; defaults to all three."
    )
    rate_limit: int | None = optional_field(
        "The rate limit of all callers together, in requests per minute, 1 to 100000; defaults to 60000."
    )
    per_address: int | None = optional_field(
        "The rate limit of one client address, in requests per minute, 0 (none) to 100000; "
        "defaults to 1200, or to `rate_limit` where that is lower."
    )
    server_side: bool | None = optional_field(
        "Whether the key is used by a server, which may act for customers without their token."
    )
