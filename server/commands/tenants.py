"""`vitrine tenant`: make, list, suspend, resume and maintain stores."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from server.commands.opened import opened, read_settings, run
from server.commands.output import say, say_fields, say_json, say_table
from server.commands.refusals import CommandRefused

if TYPE_CHECKING:
    from server.operating import StoreAtHosts


def add(commands: Any) -> None:
    """Declare the commands."""
    tenant = commands.add_parser("tenant", help="the stores: make, list, close and open them")
    about = tenant.add_subparsers(title="commands", metavar="COMMAND", required=True)

    create = about.add_parser("create", help="make a store")
    create.add_argument("name", metavar="NAME", help="the store's name")
    create.add_argument(
        "--host", metavar="H", action="append", default=[], help="an address it answers at; may be repeated"
    )
    create.add_argument(
        "--currency", metavar="CODE", default="BRL", help="its currency, ISO 4217 (default BRL)"
    )
    create.add_argument("--owner-email", metavar="EMAIL", help="make the administrator who owns it")
    create.add_argument("--owner-name", metavar="NAME", default="", help="the owner's first and last name")
    create.add_argument(
        "--owner-password", metavar="P", help="the owner's password; made up and shown when left out"
    )
    _with_json(create, _create)

    _with_json(about.add_parser("list", help="list the stores"), _list)

    suspend = about.add_parser("suspend", help="close a store: every request is answered with 503")
    resume = about.add_parser("resume", help="open a store again")
    maintenance = about.add_parser(
        "maintenance", help="close a store for maintenance; gateway notifications go on"
    )
    for each, command in ((suspend, _suspend), (resume, _resume), (maintenance, _maintenance)):
        each.add_argument("id", metavar="ID", help="the store: its UUID or one of its addresses")
        _with_json(each, command)
    maintenance.add_argument(
        "--message", metavar="TEXT", help="what shoppers are told, instead of the usual text"
    )


def _with_json(parser: argparse.ArgumentParser, command: Any) -> None:
    parser.add_argument("--json", action="store_true", help="write JSON")
    parser.set_defaults(run=command)


def _create(asked: argparse.Namespace) -> None:
    if asked.owner_email is None and (asked.owner_name or asked.owner_password):
        raise CommandRefused("--owner-name and --owner-password need --owner-email")

    async def work() -> dict[str, Any]:
        from domain import stores
        from server import operating

        settings = read_settings()
        async with opened(settings):
            operating.refuse_shared(asked.host, settings.shared_hosts)
            owner = _owner(asked)
            new = await stores.create_store(
                {"name": asked.name, "currency": asked.currency.upper()}, hosts=asked.host
            )
            made = await operating.find(str(new.store.public_id))
            shown = {**made.as_json(), "gateway": {"secret_key": new.gateway_secret}}
            if owner is not None:
                user = await operating.make_owner(new.store, owner)
                shown["owner"] = {
                    "user_id": str(user.public_id),
                    "email": owner["email"],
                    "password": owner["password"],
                }
        return shown

    shown = run(work())
    if asked.json:
        say_json(shown)
        return
    owner = shown.get("owner", {})
    say_fields(
        {
            "store": f"{shown['name']} ({shown['currency']})",
            "tenant_id": shown["tenant_id"],
            "addresses": ", ".join(shown["hosts"]) or "none: call a shared address with X-Tenant-ID",
            "gateway secret": shown["gateway"]["secret_key"],
            "owner": owner.get("email"),
            "password": owner.get("password"),
        }
    )


def _owner(asked: argparse.Namespace) -> dict[str, Any] | None:
    """Read who shall own the store, refusing what is wrong before the store is made."""
    if asked.owner_email is None:
        return None
    from domain.fields import read_fields
    from domain.people.account_fields import FIELDS, with_name_split
    from kernel.ids import random_token

    given = with_name_split(
        {
            "email": asked.owner_email,
            "password": asked.owner_password or random_token(96),
            "name": asked.owner_name,
        }
    )
    read_fields(FIELDS, given, creating=True)
    return given


def _list(asked: argparse.Namespace) -> None:
    async def work() -> list[StoreAtHosts]:
        from server import operating

        async with opened(read_settings()):
            return await operating.list_stores()

    found = run(work())
    if asked.json:
        say_json([each.as_json() for each in found])
    elif not found:
        say("there is no store: make one with vitrine tenant create, or vitrine demo")
    else:
        say_table(("ID", "STATUS", "CURRENCY", "NAME", "ADDRESSES"), [_row(each) for each in found])


def _row(found: StoreAtHosts) -> tuple[object, ...]:
    from server.operating import STATES

    store = found.store
    return (store.public_id, STATES[store.status], store.currency, store.name, ", ".join(found.hosts))


def _suspend(asked: argparse.Namespace) -> None:
    _set_state(asked, "S")


def _resume(asked: argparse.Namespace) -> None:
    _set_state(asked, "A")


def _maintenance(asked: argparse.Namespace) -> None:
    _set_state(asked, "M", asked.message)


def _set_state(asked: argparse.Namespace, status: str, message: str | None = None) -> None:
    async def work() -> StoreAtHosts:
        from server import operating

        async with opened(read_settings()):
            return await operating.set_state(asked.id, status, message)

    changed = run(work())
    if asked.json:
        say_json(changed.as_json())
        return
    from server.operating import STATES

    say(f"{changed.store.name} is {STATES[changed.store.status]}")
