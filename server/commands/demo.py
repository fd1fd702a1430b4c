"""`vitrine demo`: create the demo stores and print their credentials."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from server.commands.context import open_context, read_settings
from server.commands.output import add_json_option, print_fields, print_json, print_line, print_table

if TYPE_CHECKING:
    from server.demo.setup import DemoResult


def add(commands: Any) -> None:
    """Declare the command."""
    result = commands.add_parser(
        "demo",
        help="create the demo stores and print their credentials",
        description="Create missing demo stores and print new credentials; previously printed credentials"
        " stop working. Refused in production.",
    )
    result.add_argument("--reset", action="store_true", help="delete all data of the demo stores first")
    add_json_option(result, _demo)


async def _demo(args: argparse.Namespace) -> None:
    settings = read_settings()
    if settings.is_production:
        from server.commands.errors import CommandError

        raise CommandError("vitrine demo is not available in production (VITRINE_ENV)")

    from server.demo.setup import set_up_demo
    from server.domain_settings import configure_domain
    from server.media.child_pool import image_renderer

    async with open_context(settings) as context, image_renderer():
        configure_domain(context.settings)
        result = await set_up_demo(context.settings, context.location, reset=args.reset)
    if args.json:
        print_json(result.json)
    else:
        _print_result(result)


def _print_result(result: DemoResult) -> None:
    values = result.json
    for name in result.created:
        print_line(f"Created the data of {name}.")
    print_line(
        f"{values['base_url']} with X-Tenant-ID {values['tenant_id']}, or http://{values['host']} at the same port"
    )
    print_line()
    rows: list[tuple[object, ...]] = [
        (key, values[key]["email"], values[key]["password"], values[key].get("api_key", ""))
        for key in ("admin", "staff", "vendor", "customer", "unverified", "disabled", "pending")
    ]
    shared = values["shared_cpf"]
    rows += [("shared CPF", email, shared["password"], "") for email in shared["emails"]]
    other = values["other_store"]
    rows.append(("other store's admin", other["admin"]["email"], other["admin"]["password"], other["admin"]["api_key"]))
    rows.append(("platform user", values["platform_user"]["email"], values["platform_user"]["password"], ""))
    print_table(("WHO", "E-MAIL", "PASSWORD", "API KEY"), rows)
    print_line()
    print_line(f"access token of the admin, valid until {values['admin']['expires_at']}:")
    print_line(values["admin"]["access_token"])
    print_line()
    print_line(f"storefront key: {values['storefront_key']}")
    app = values["app"]
    print_fields(
        {
            "app's client_id": app["client_id"],
            "app's client_secret": app["client_secret"],
            "app's access token": app["access_token"],
            "app's refresh token": app["refresh_token"],
        }
    )
    print_line()
    print_line(f"other store: {other['tenant_id']} at {other['host']}")
    for key, state in (("suspended_store", "suspended"), ("maintenance_store", "in maintenance")):
        print_line(f"{state}: {values[key]['tenant_id']} at {values[key]['host']}")
    print_line(f"payment gateway secret: {values['gateway']['secret_key']}")
