"""`vitrine user`: make users of a store, give them API keys and privileges."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from server.commands.opened import opened, read_settings, run
from server.commands.output import say, say_fields, say_json
from server.commands.refusals import CommandRefused

if TYPE_CHECKING:
    from domain.people.accounts import UserRef
    from kernel.scope import Scope


def add(commands: Any) -> None:
    """Declare the commands."""
    user = commands.add_parser("user", help="the users of a store: make them, give them keys and privileges")
    about = user.add_subparsers(title="commands", metavar="COMMAND", required=True)

    create = about.add_parser("create", help="make a user")
    _whose(create)
    create.add_argument(
        "--type", choices=("A", "V", "C"), required=True, help="administrator, vendor or customer"
    )
    create.add_argument("--name", default="", help="first and last name")
    create.add_argument(
        "--password", metavar="P", help="8 to 128 characters; made up and shown when left out"
    )
    create.add_argument(
        "--privileges", metavar="all|a,b", help="what an administrator may do; none when left out"
    )
    create.add_argument("--vendor", metavar="ID", help="the vendor a vendor user works for")
    create.add_argument("--owner", action="store_true", help="make the administrator the owner of the store")
    create.set_defaults(run=_create)

    key = about.add_parser("api-key", help="make an API key, the password of the legacy layer")
    _whose(key)
    key.add_argument("--name", default="", help="what it is for")
    key.set_defaults(run=_api_key)

    rights = about.add_parser("privileges", help="show or set what an administrator may do")
    _whose(rights)
    rights.add_argument("--set", metavar="all|a,b", help="exactly these from now on; '' for none")
    rights.set_defaults(run=_privileges)


def _whose(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tenant", metavar="ID", required=True, help="the store: its UUID or one of its addresses"
    )
    parser.add_argument("--email", required=True, help="the user's e-mail")
    parser.add_argument("--json", action="store_true", help="write JSON")


def _create(asked: argparse.Namespace) -> None:
    if asked.type != "A" and (asked.owner or asked.privileges):
        raise CommandRefused("--owner and --privileges are for administrators (--type A)")
    if asked.type == "V" and not asked.vendor:
        raise CommandRefused("a vendor user needs --vendor, the vendor it works for")

    async def work() -> dict[str, Any]:
        from domain.people import accounts
        from kernel.ids import random_token
        from models import database
        from server import operating

        password = asked.password or random_token(96)
        given = {
            "email": asked.email,
            "password": password,
            "user_type": asked.type,
            "name": asked.name,
            "vendor_id": asked.vendor,
        }
        async with opened(read_settings()):
            scope = operating.system_scope((await operating.find(asked.tenant)).store)
            async with database.transaction(scope):
                user = await accounts.create_user(scope, given)
                privileges = _named(asked.privileges or "")
                if privileges:
                    await accounts.set_privileges(scope, user.public_id, privileges)
                if asked.owner:
                    await operating.set_owner(scope, user)
        return {
            "user_id": str(user.public_id),
            "email": asked.email.strip().lower(),
            "password": password,
            "type": asked.type,
            "privileges": privileges,
            "owner": asked.owner,
        }

    _show(asked, run(work()))


def _api_key(asked: argparse.Namespace) -> None:
    async def work() -> dict[str, Any]:
        from auth.api_keys import create_api_key
        from server import operating

        async with opened(read_settings()):
            scope = operating.system_scope((await operating.find(asked.tenant)).store)
            user = await _find_user(scope, asked.email)
            made = await create_api_key(scope, user.public_id, asked.name)
        return {
            "user_id": str(user.public_id),
            "email": asked.email.strip().lower(),
            "api_key_id": str(made.info.id),
            "api_key": made.secret,
        }

    _show(asked, run(work()))


def _privileges(asked: argparse.Namespace) -> None:
    async def work() -> dict[str, Any]:
        from auth import privileges
        from domain.people import accounts
        from kernel.scope import entered
        from server import operating

        async with opened(read_settings()):
            scope = operating.system_scope((await operating.find(asked.tenant)).store)
            with entered(scope):
                user = await _find_user(scope, asked.email)
                if asked.set is not None:
                    await accounts.set_privileges(scope, user.public_id, _named(asked.set))
                account = await privileges.account(scope, user.id)
        assert account is not None
        return {
            "user_id": str(user.public_id),
            "email": asked.email.strip().lower(),
            "owner": account.is_owner,
            "privileges": sorted(account.own),
            "effective": sorted(account.privileges),
        }

    _show(asked, run(work()))


def _named(text: str) -> list[str]:
    """Read `all` or names with commas between them."""
    from auth.privileges import ALL, check_names

    if text.strip() == "all":
        return sorted(ALL)
    return sorted(check_names(name.strip() for name in text.split(",") if name.strip()))


async def _find_user(scope: Scope, email: str) -> UserRef:
    from domain.people.accounts import UserRef
    from kernel.documents import normalise_email
    from kernel.scope import entered
    from models import database

    with entered(scope):
        found = await database.row(
            "select id, public_id from users where tenant_id = $1 and email = $2 and deleted_at is null",
            scope.store.id,
            normalise_email(email),
        )
    if found is None:
        raise CommandRefused(f"nobody in {scope.store.name} has the e-mail {email!r}")
    return UserRef(found["id"], found["public_id"])


def _show(asked: argparse.Namespace, shown: dict[str, Any]) -> None:
    if asked.json:
        say_json(shown)
        return
    lines = {name: _written(value) for name, value in shown.items() if value is not False}
    say_fields(lines)
    if "api_key" in shown:
        say("The key is shown this once.")


def _written(value: object) -> object:
    if isinstance(value, list):
        return ", ".join(value) or "none"
    return "yes" if value is True else value
