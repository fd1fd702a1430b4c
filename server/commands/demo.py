"""`vitrine demo`: make the demo stores, and print who can sign in with what."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from server.commands.opened import opened, read_settings, run
from server.commands.output import say, say_fields, say_json, say_table

if TYPE_CHECKING:
    from server.demo.making import Demo


def add(commands: Any) -> None:
    """Declare the command."""
    demo = commands.add_parser(
        "demo",
        help="make the demo stores and print credentials for them",
        description="Make the demo stores where they are missing and print credentials: new ones each time, and those printed before"
        " stop working. Refused in production.",
    )
    demo.add_argument("--json", action="store_true", help="write JSON")
    demo.add_argument(
        "--reset", action="store_true", help="empty the demo stores first, whatever was changed in them"
    )
    demo.set_defaults(run=_demo)


def _demo(asked: argparse.Namespace) -> None:
    settings = read_settings()
    if settings.is_production:
        from server.commands.refusals import CommandRefused

        raise CommandRefused("vitrine demo is for development, and VITRINE_ENV is production")

    async def work() -> Demo:
        from server.demo.making import make

        async with opened(settings) as open_:
            return await make(open_.settings, open_.place, reset=asked.reset)

    demo = run(work())
    if asked.json:
        say_json(demo.json)
    else:
        _show(demo)


def _show(demo: Demo) -> None:
    shown = demo.json
    for name in demo.filled:
        say(f"Filled {name}.")
    say(
        f"{shown['base_url']} with X-Tenant-ID {shown['tenant_id']}, or http://{shown['host']} at the same port"
    )
    say()
    rows: list[tuple[object, ...]] = [
        (key, shown[key]["email"], shown[key]["password"], shown[key].get("api_key", ""))
        for key in ("admin", "staff", "vendor", "customer", "unverified", "disabled", "pending")
    ]
    shared = shown["shared_cpf"]
    rows += [("shared CPF", email, shared["password"], "") for email in shared["emails"]]
    other = shown["other_store"]
    rows.append(
        (
            "other store's admin",
            other["admin"]["email"],
            other["admin"]["password"],
            other["admin"]["api_key"],
        )
    )
    rows.append(("platform user", shown["platform_user"]["email"], shown["platform_user"]["password"], ""))
    say_table(("WHO", "E-MAIL", "PASSWORD", "API KEY"), rows)
    say()
    say(f"access token of the admin, until {shown['admin']['expires_at']}:")
    say(shown["admin"]["access_token"])
    say()
    say(f"storefront key: {shown['storefront_key']}")
    app = shown["app"]
    say_fields(
        {
            "app's client_id": app["client_id"],
            "app's client_secret": app["client_secret"],
            "app's access token": app["access_token"],
            "app's refresh token": app["refresh_token"],
        }
    )
    say()
    say(f"other store: {other['tenant_id']} at {other['host']}")
    for key, state in (("suspended_store", "suspended"), ("maintenance_store", "in maintenance")):
        say(f"{state}: {shown[key]['tenant_id']} at {shown[key]['host']}")
    say(f"secret of the payment gateway: {shown['gateway']['secret_key']}")
