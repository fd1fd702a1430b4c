"""`vitrine app` and `vitrine storefront-key`: register platform apps, reset the secrets of apps; create, list, show and revoke keys."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from server.commands import records
from server.commands.context import open_context, read_settings
from server.commands.errors import CommandError
from server.commands.output import add_json_option, print_created, print_json, print_line, print_table

if TYPE_CHECKING:
    from domain.apps.registration import AppDetails


def add(commands: Any) -> None:
    """Declare the commands."""
    app = commands.add_parser("app", help="manage third-party apps")
    app_commands = app.add_subparsers(title="commands", metavar="COMMAND", required=True)
    create = app_commands.add_parser("create", help="register an app that any store may install")
    create.add_argument("name", metavar="NAME", help="the name shown to administrators")
    create.add_argument(
        "--redirect-uri",
        metavar="URI",
        action="append",
        required=True,
        help="OAuth redirect URI; repeatable; https, or http on localhost",
    )
    create.add_argument(
        "--scopes",
        metavar="all|a,b",
        required=True,
        help="the scopes it may request, such as read_orders,write_products",
    )
    create.add_argument("--mode", choices=("live", "test"), default="live", help="mode of its tokens (default live)")
    create.add_argument(
        "--call-url",
        metavar="KIND=URL",
        action="append",
        default=[],
        help="where stores call it: payments=https://… or shipping_rates=https://…; repeatable",
    )
    add_json_option(create, _create_app)
    add_json_option(app_commands.add_parser("list", help="list the apps of the platform and of all stores"), _list_apps)
    show = app_commands.add_parser("show", help="show an app with everything that is known of it, but secrets")
    reset = app_commands.add_parser(
        "reset-secret",
        help="print a new secret of an app; the previous one is revoked at once",
        description="Print a new client secret of an app, and revoke the previous one at once. Its tokens stay valid:"
        " vitrine installed-app uninstall revokes those of a store.",
    )
    for parser, command in ((show, _show_app), (reset, _reset_secret)):
        parser.add_argument("client_id", metavar="CLIENT_ID", help="its client id, as `list` prints it")
        add_json_option(parser, command)

    key = commands.add_parser("storefront-key", help="manage the keys of headless storefronts")
    key_commands = key.add_subparsers(title="commands", metavar="COMMAND", required=True)
    create_key = key_commands.add_parser("create", help="create a key for a store")
    create_key.add_argument("--tenant", metavar="ID", required=True, help="the store: UUID or host")
    create_key.add_argument("--name", default="", help="a name for the key")
    create_key.add_argument(
        "--scopes",
        metavar="all|a,b",
        default="all",
        help="any of storefront:read, storefront:cart, storefront:checkout (default all)",
    )
    create_key.add_argument(
        "--rate-limit", metavar="N", type=int, help="requests per minute of all callers together (default 60000)"
    )
    create_key.add_argument(
        "--per-address",
        metavar="N",
        type=int,
        help="requests per minute of one client address, 0 for no limit (default 1200, or the rate limit where that is lower)",
    )
    create_key.add_argument(
        "--server-side", action="store_true", help="for use on a server only, where it may act for customers"
    )
    add_json_option(create_key, _create_key)
    records.add_to(key_commands, "storefront-key")


async def _create_app(args: argparse.Namespace) -> None:
    from auth.app_scopes import APP_SCOPES
    from domain.apps.registration import register_platform_app
    from domain.outgoing import calls

    values = {
        "name": args.name,
        "redirect_uris": args.redirect_uri,
        "scopes": _parse_scopes(args.scopes, sorted(APP_SCOPES)),
        "mode": args.mode,
        "call_urls": dict(entry.partition("=")[::2] for entry in args.call_url),
    }
    settings = read_settings()
    calls.configure(None, allows_private=settings.allows_private_endpoints)
    async with open_context(settings):
        created = await register_platform_app(values)
    result = {
        "id": str(created.id),
        "name": created.name,
        "client_id": created.client_id,
        "client_secret": created.client_secret,
        "redirect_uris": created.redirect_uris,
        "scopes": created.scopes,
        "mode": created.mode,
    }
    print_created(args, result, "The secret is shown only once.")


async def _list_apps(args: argparse.Namespace) -> None:
    from domain.apps.registration import list_apps

    async with open_context(read_settings()):
        apps = [_as_json(app) for app in await list_apps()]
    if args.json:
        print_json(apps)
    elif not apps:
        print_line("there is no app")
    else:
        columns = ("client_id", "name", "mode", "created_at")
        print_table(
            [name.upper().replace("_", " ") for name in columns], [[app[name] for name in columns] for app in apps]
        )


async def _show_app(args: argparse.Namespace) -> None:
    from domain.apps.registration import find_app

    async with open_context(read_settings()):
        app = await find_app(args.client_id)
    if app is None:
        raise CommandError(f"there is no app {args.client_id}; list them with vitrine app list")
    print_created(args, _as_json(app))


async def _reset_secret(args: argparse.Namespace) -> None:
    from domain.apps.registration import find_app, registering_store, reset_secret
    from models import audit
    from models.connection import database
    from server.operations.store_admin import find_store, system_scope

    async with open_context(read_settings()):
        secret = await reset_secret(args.client_id)
        app, store_id = await find_app(args.client_id), await registering_store(args.client_id)
        if app is not None and store_id is not None:
            scope = system_scope((await find_store(str(store_id))).store)
            async with database.transaction(scope):
                await audit.record(scope, "app.secret_reset", "app", app.id)
    print_created(args, {"client_id": args.client_id, "client_secret": secret}, "The secret is shown only once.")


def _as_json(app: AppDetails) -> dict[str, Any]:
    from kernel.clock import format_rfc3339

    return {
        "id": str(app.id),
        "name": app.name,
        "client_id": app.client_id,
        "redirect_uris": app.redirect_uris,
        "scopes": app.scopes,
        "mode": app.mode,
        "created_at": format_rfc3339(app.created_at),
        **{f"{kind}_call_url": url for kind, url in app.call_urls.items() if url is not None},
    }


async def _create_key(args: argparse.Namespace) -> None:
    from auth.app_scopes import STOREFRONT_SCOPES
    from auth.storefront_keys import create_storefront_key
    from server.operations import store_admin

    scopes = _parse_scopes(args.scopes, list(STOREFRONT_SCOPES))
    values = {
        "name": args.name,
        "scopes": scopes,
        "rate_limit": args.rate_limit,
        "per_address": args.per_address,
        "server_side": args.server_side,
    }
    async with open_context(read_settings()):
        scope = await store_admin.find_scope(args.tenant)
        created = await create_storefront_key(scope, values)
    result = {
        "tenant_id": str(scope.store.public_id),
        "storefront_key_id": str(created.id),
        "storefront_key": created.key,
        "scopes": scopes,
        "rate_limit": created.rate_limit,
        "per_address": created.per_address,
        "server_side": args.server_side,
    }
    print_created(args, result, "The key is shown only once.")


def _parse_scopes(text: str, everything: list[str]) -> list[str]:
    """Parse `all` or a comma-separated list; the names are validated later."""
    if text.strip() == "all":
        return everything
    return [name.strip() for name in text.split(",") if name.strip()]
