"""`vitrine app` and `vitrine storefront-key`: register apps of the platform, make keys for a store's own front."""

from __future__ import annotations

import argparse
from typing import Any

from server.commands.opened import opened, read_settings, run
from server.commands.output import say, say_fields, say_json


def add(commands: Any) -> None:
    """Declare the commands."""
    app = commands.add_parser("app", help="the apps of third parties: register them")
    about_apps = app.add_subparsers(title="commands", metavar="COMMAND", required=True)
    create = about_apps.add_parser("create", help="register an app, which any store may install")
    create.add_argument("name", metavar="NAME", help="what administrators see")
    create.add_argument(
        "--redirect-uri",
        metavar="URI",
        action="append",
        required=True,
        help="where administrators are sent back to; may be repeated; https, or http on localhost",
    )
    create.add_argument(
        "--scopes",
        metavar="all|a,b",
        required=True,
        help="what it may ask for, as read_orders,write_products",
    )
    create.add_argument(
        "--mode", choices=("live", "test"), default="live", help="written in its tokens (default live)"
    )
    create.add_argument("--json", action="store_true", help="write JSON")
    create.set_defaults(run=_create_app)

    key = commands.add_parser("storefront-key", help="the keys of headless storefronts: make them")
    about_keys = key.add_subparsers(title="commands", metavar="COMMAND", required=True)
    make = about_keys.add_parser("create", help="make a key for a store")
    make.add_argument(
        "--tenant", metavar="ID", required=True, help="the store: its UUID or one of its addresses"
    )
    make.add_argument("--name", default="", help="what it is for")
    make.add_argument(
        "--scopes",
        metavar="all|a,b",
        default="all",
        help="any of storefront:read, storefront:cart, storefront:checkout (default all)",
    )
    make.add_argument(
        "--rate-limit", metavar="N", type=int, default=600, help="requests a minute (default 600)"
    )
    make.add_argument(
        "--server-side", action="store_true", help="kept on a server, where it may name customers"
    )
    make.add_argument("--json", action="store_true", help="write JSON")
    make.set_defaults(run=_create_key)


def _create_app(asked: argparse.Namespace) -> None:
    async def work() -> dict[str, Any]:
        from auth.app_scopes import APP_SCOPES
        from auth.apps import register_app_of_platform

        given = {
            "name": asked.name,
            "redirect_uris": asked.redirect_uri,
            "scopes": _named(asked.scopes, sorted(APP_SCOPES)),
            "mode": asked.mode,
        }
        async with opened(read_settings()):
            made = await register_app_of_platform(given)
        return {
            "id": str(made.id),
            "name": made.name,
            "client_id": made.client_id,
            "client_secret": made.client_secret,
            "redirect_uris": made.redirect_uris,
            "scopes": made.scopes,
            "mode": made.mode,
        }

    _show(asked, run(work()), "The secret is shown this once.")


def _create_key(asked: argparse.Namespace) -> None:
    async def work() -> dict[str, Any]:
        from auth.app_scopes import STOREFRONT_SCOPES
        from auth.storefront_keys import create_storefront_key
        from server import operating

        scopes = _named(asked.scopes, list(STOREFRONT_SCOPES))
        given = {
            "name": asked.name,
            "scopes": scopes,
            "rate_limit": asked.rate_limit,
            "server_side": asked.server_side,
        }
        async with opened(read_settings()):
            store = (await operating.find(asked.tenant)).store
            made = await create_storefront_key(operating.system_scope(store), given)
        return {
            "tenant_id": str(store.public_id),
            "storefront_key_id": str(made.id),
            "storefront_key": made.key,
            "scopes": scopes,
            "rate_limit": asked.rate_limit,
            "server_side": asked.server_side,
        }

    _show(asked, run(work()), "The key is shown this once.")


def _named(text: str, everything: list[str]) -> list[str]:
    """Read `all` or names with commas between them; whether they are names of scopes is checked where they are used."""
    if text.strip() == "all":
        return everything
    return [name.strip() for name in text.split(",") if name.strip()]


def _show(asked: argparse.Namespace, shown: dict[str, Any], remark: str) -> None:
    if asked.json:
        say_json(shown)
        return
    say_fields({name: _written(value) for name, value in shown.items() if value is not False})
    say(remark)


def _written(value: object) -> object:
    if isinstance(value, list):
        return ", ".join(value)
    return "yes" if value is True else value
