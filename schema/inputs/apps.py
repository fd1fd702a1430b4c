"""Define what is given to register apps and to make storefront keys."""

from __future__ import annotations

import strawberry

from schema.inputs.given import given_field


@strawberry.input(description="An app. Registration needs `name`, `redirect_uris` and `scopes`.")
class AppInput:
    """Fields of an app."""

    name: str | None = given_field("What administrators see when they are asked to install it.")
    redirect_uris: list[str] | None = given_field(
        "Where administrators are sent back to, 1 to 10 addresses: https, or http on localhost; compared exactly."
    )
    scopes: list[str] | None = given_field("What it may ask for: `read_orders`, `write_products`, …")
    mode: str | None = given_field("`live` (the default) or `test`; it is written in the tokens.")


@strawberry.input(description="What is changed of an installed app.")
class InstalledAppInput:
    """Fields of an installation."""

    scopes: list[str] | None = given_field("What it keeps of what was approved.")
    rate_limit: int | None = given_field("Its requests a minute, 1 to 100000.")


@strawberry.input(description="A key of a headless storefront.")
class StorefrontKeyInput:
    """Fields of a storefront key."""

    name: str | None = given_field("What it is for.")
    scopes: list[str] | None = given_field(
        "Any of `storefront:read`, `storefront:cart`, `storefront:checkout`; all three unless said."
    )
    rate_limit: int | None = given_field("Its requests a minute, 1 to 100000; 600 unless said.")
    server_side: bool | None = given_field(
        "Whether it is kept on a server, where it may name customers without their own token."
    )
