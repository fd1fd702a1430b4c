"""`vitrine user`: create, list and show users, reset their password or second factor, manage their API keys and privileges."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from server.commands import records
from server.commands.context import open_context, read_settings
from server.commands.errors import CommandError
from server.commands.output import add_json_option, print_created, print_json, print_table

if TYPE_CHECKING:
    from domain.people.accounts import UserRef
    from kernel.scope import Scope


def add(commands: Any) -> None:
    """Declare the commands."""
    user = commands.add_parser("user", help="manage the users of a store")
    user_commands = user.add_subparsers(title="commands", metavar="COMMAND", required=True)

    create = user_commands.add_parser("create", help="create a user")
    _add_user_arguments(create, _create)
    create.add_argument("--type", choices=("A", "V", "C"), required=True, help="administrator, vendor or customer")
    create.add_argument("--name", default="", help="first and last name")
    create.add_argument("--password", metavar="P", help="8 to 128 characters; generated and shown by default")
    create.add_argument("--privileges", metavar="all|a,b", help="privileges of an administrator (default none)")
    create.add_argument("--vendor", metavar="ID", help="the vendor of a vendor user")
    create.add_argument("--owner", action="store_true", help="make the administrator the store's owner")

    key = user_commands.add_parser("api-key", help="create an API key for the legacy API")
    _add_user_arguments(key, _api_key)
    key.add_argument("--name", default="", help="a name for the key")

    keys = user_commands.add_parser("api-keys", help="list the API keys of a user, or revoke one")
    _add_user_arguments(keys, _api_keys)
    keys.add_argument("--revoke", metavar="KEY", help="revoke the key with this ID")

    password = user_commands.add_parser(
        "reset-password",
        help="print a link with which a user sets a new password",
        description="Print a link, or a code where the store has no account page, with which the user sets a new password within an hour.",
    )
    _add_user_arguments(password, _reset_password)

    second = user_commands.add_parser(
        "reset-two-factor",
        help="remove the second factor of a user who has lost it",
        description="Remove the second factor of a user, end the user's sessions, mail the user, and write the reason into the audit log.",
    )
    _add_user_arguments(second, _reset_two_factor)
    second.add_argument("--reason", metavar="TEXT", required=True, help="how the user was identified, and why")
    records.add_to(user_commands, "user")

    rights = user_commands.add_parser("privileges", help="show or set an administrator's privileges")
    _add_user_arguments(rights, _privileges)
    rights.add_argument("--set", metavar="all|a,b", help="replace the privileges; '' for none")


def _add_user_arguments(parser: argparse.ArgumentParser, command: Callable[[argparse.Namespace], object]) -> None:
    parser.add_argument("--tenant", metavar="ID", required=True, help="the store: UUID or host")
    parser.add_argument("--email", required=True, help="the user's e-mail")
    add_json_option(parser, command)


async def _create(args: argparse.Namespace) -> None:
    if args.type != "A" and (args.owner or args.privileges):
        raise CommandError("--owner and --privileges are for administrators (--type A)")
    if args.type == "V" and not args.vendor:
        raise CommandError("--type V requires --vendor")

    from domain.people import accounts
    from kernel.ids import random_token
    from models.connection import database
    from server.operations import store_admin

    password = args.password or random_token(96)
    values = {
        "email": args.email,
        "password": password,
        "user_type": args.type,
        "name": args.name,
        "vendor_id": args.vendor,
    }
    async with open_context(read_settings()):
        scope = await store_admin.find_scope(args.tenant)
        async with database.transaction(scope):
            user = await accounts.create_user(scope, values)
            privileges = _parse_privileges(args.privileges or "")
            if privileges:
                await accounts.set_privileges(scope, user.public_id, privileges)
            if args.owner:
                await store_admin.set_owner(scope, user)
    result = {
        "user_id": str(user.public_id),
        "email": args.email.strip().lower(),
        "password": password,
        "type": args.type,
        "privileges": privileges,
        "owner": args.owner,
    }
    print_created(args, result)


async def _api_key(args: argparse.Namespace) -> None:
    from auth.api_keys import create_api_key
    from server.operations import store_admin

    async with open_context(read_settings()):
        scope = await store_admin.find_scope(args.tenant)
        user = await _find_user(scope, args.email)
        created = await create_api_key(scope, user.public_id, args.name)
    result = {
        "user_id": str(user.public_id),
        "email": args.email.strip().lower(),
        "api_key_id": str(created.info.id),
        "api_key": created.secret,
    }
    print_created(args, result, "The key is shown only once.")


async def _api_keys(args: argparse.Namespace) -> None:
    from auth.api_keys import list_api_keys, revoke_api_key
    from kernel.clock import format_rfc3339
    from kernel.scope import active_scope
    from server.operations import store_admin

    async with open_context(read_settings()):
        scope = await store_admin.find_scope(args.tenant)
        user = await _find_user(scope, args.email)
        with active_scope(scope):
            if args.revoke is not None:
                await revoke_api_key(scope, args.revoke)
            keys = await list_api_keys(scope, user.public_id)
    rows = [
        {
            "id": str(key.id),
            "name": key.name,
            "hint": key.hint,
            "created_at": format_rfc3339(key.created_at),
            "last_used_at": key.last_used_at and format_rfc3339(key.last_used_at),
        }
        for key in keys
    ]
    if args.json:
        print_json(rows)
    else:
        print_table(
            ("ID", "NAME", "HINT", "CREATED", "LAST USED"), [[value or "" for value in row.values()] for row in rows]
        )


async def _reset_password(args: argparse.Namespace) -> None:
    from domain.people.registration import issue_password_link
    from server.operations import store_admin

    async with open_context(read_settings()):
        scope = await store_admin.find_scope(args.tenant)
        link = await issue_password_link(scope, await _find_user(scope, args.email))
    print_created(
        args,
        {"email": args.email.strip().lower(), **link},
        "It is valid for an hour and shown only once; hand it over safely.",
    )


async def _reset_two_factor(args: argparse.Namespace) -> None:
    from domain.people.two_factor import reset
    from server.operations import store_admin

    async with open_context(read_settings()):
        scope = await store_admin.find_scope(args.tenant)
        user = await _find_user(scope, args.email)
        await reset(scope, user.id, args.reason)
    print_created(args, {"email": args.email.strip().lower(), "two_factor": "removed"})


async def _privileges(args: argparse.Namespace) -> None:
    from auth import privileges
    from domain.people import accounts
    from kernel.scope import active_scope
    from server.operations import store_admin

    async with open_context(read_settings()):
        scope = await store_admin.find_scope(args.tenant)
        with active_scope(scope):
            user = await _find_user(scope, args.email)
            if args.set is not None:
                await accounts.set_privileges(scope, user.public_id, _parse_privileges(args.set))
            account = await privileges.load_account(scope, user.id)
    assert account is not None
    result = {
        "user_id": str(user.public_id),
        "email": args.email.strip().lower(),
        "owner": account.is_owner,
        "privileges": sorted(account.own),
        "effective": sorted(account.privileges),
    }
    print_created(args, result)


def _parse_privileges(text: str) -> list[str]:
    """Parse `all` or a comma-separated list."""
    from auth.privileges import ALL, parse_privileges

    if text.strip() == "all":
        return sorted(ALL)
    return sorted(parse_privileges(name.strip() for name in text.split(",") if name.strip()))


async def _find_user(scope: Scope, email: str) -> UserRef:
    from domain.people.accounts import UserRef
    from kernel.fields import normalize_email
    from kernel.scope import active_scope
    from models.connection import database

    with active_scope(scope):
        row = await database.fetchrow(
            "select id, public_id from users where tenant_id = $1 and email = $2 and deleted_at is null",
            scope.store.id,
            normalize_email(email),
        )
    if row is None:
        raise CommandError(f"no user of {scope.store.name} has the e-mail {email!r}")
    return UserRef(row["id"], row["public_id"])
