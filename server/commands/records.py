"""List, show and remove records of a store by the operations of GraphQL: a row of `RECORDS` is a set of commands."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from server.commands.context import open_context, read_settings
from server.commands.errors import CommandError
from server.commands.output import add_json_option, print_created, print_json, print_line, print_table

if TYPE_CHECKING:
    from kernel.scope import Scope

MAX_LISTED = 1_000


@dataclass(frozen=True, slots=True)
class RecordCommands:
    """The commands of an entity: its name in GraphQL, the columns of its list, and what removes a record: a verb and a mutation."""

    entity: str
    title: str
    columns: tuple[str, ...]
    is_searched: bool = False
    remove: tuple[str, str] | None = None


RECORDS: Mapping[str, RecordCommands] = {
    "user": RecordCommands(
        "user", "users", ("id", "user_type", "status", "email", "name", "last_login_at"), is_searched=True
    ),
    "storefront-key": RecordCommands(
        "storefront_key",
        "storefront keys",
        ("id", "name", "hint", "scopes", "created_at", "last_used_at"),
        remove=("revoke", "storefront_key_revoke"),
    ),
    "installed-app": RecordCommands(
        "installed_app",
        "installed apps",
        ("id", "name", "client_id", "scopes", "installed_at"),
        remove=("uninstall", "app_uninstall"),
    ),
    "webhook": RecordCommands(
        "event_endpoint",
        "webhook endpoints",
        ("id", "url", "status", "events", "last_success_at", "last_failure_at"),
        remove=("delete", "event_endpoint_delete"),
    ),
}


def add(commands: Any) -> None:
    """Declare the commands of the entities that have no others."""
    for name in ("installed-app", "webhook"):
        parser = commands.add_parser(name, help=f"list, show and remove the {RECORDS[name].title} of a store")
        add_to(parser.add_subparsers(title="commands", metavar="COMMAND", required=True), name)


def add_to(subcommands: Any, name: str) -> None:
    """Declare the commands of an entity in addition to its others."""
    records = RECORDS[name]
    listing = subcommands.add_parser("list", help=f"list the {records.title} of a store")
    if records.is_searched:
        listing.add_argument("--search", metavar="TEXT", help="only those that contain the text")
    showing = subcommands.add_parser("show", help="show one with everything that is known of it, but secrets")
    parsers = [(listing, _list), (showing, _show)]
    if records.remove is not None:
        parsers.append((subcommands.add_parser(records.remove[0], help=f"{records.remove[0]} one"), _remove))
    for parser, command in parsers:
        parser.add_argument("--tenant", metavar="ID", required=True, help="the store: UUID or host")
        if command is not _list:
            parser.add_argument("id", metavar="RECORD", help="its ID, as `list` prints it")
        add_json_option(parser, partial(command, records))


async def _list(records: RecordCommands, args: argparse.Namespace) -> None:
    arguments = f"page: 1, per_page: {MAX_LISTED}"
    search = getattr(args, "search", None)
    if search:
        arguments += ", filter: {search: $search}"
    parameters = "($search: String)" if search else ""
    document = f"query{parameters} {{ page: {records.entity}_page({arguments}) {{ total items {{ {' '.join(records.columns)} }} }} }}"
    page = await _execute(args.tenant, document, {"search": search} if search else {})
    if args.json:
        print_json(page["items"])
        return
    if not page["items"]:
        print_line(f"there are no {records.title}")
        return
    rows = [[_cell(record[name]) for name in records.columns] for record in page["items"]]
    print_table([name.upper().replace("_", " ") for name in records.columns], rows)
    if page["total"] > len(rows):
        print_line(f"{page['total'] - len(rows)} more")


async def _show(records: RecordCommands, args: argparse.Namespace) -> None:
    record = await _execute(
        args.tenant,
        f"query($id: ID!) {{ record: {records.entity}(id: $id) {{ {_fields(records)} }} }}",
        {"id": args.id},
    )
    if record is None:
        raise CommandError(f"the store has no such record among its {records.title}: {args.id}")
    print_created(args, record)


async def _remove(records: RecordCommands, args: argparse.Namespace) -> None:
    assert records.remove is not None  # else the command isn't declared
    verb, mutation = records.remove
    await _execute(args.tenant, f"mutation($id: ID!) {{ {mutation}(id: $id) {{ id }} }}", {"id": args.id})
    print_created(args, {verb: args.id})


def _fields(records: RecordCommands) -> str:
    """Return what the type has of its own: every field with a plain value and without arguments."""
    from graphql import GraphQLObjectType, get_named_type, is_leaf_type

    from resolvers.root import public_schema

    schema = public_schema()
    assert schema.query_type is not None
    described = get_named_type(schema.query_type.fields[records.entity].type)
    assert isinstance(described, GraphQLObjectType)
    return " ".join(
        name
        for name, field in described.fields.items()
        if is_leaf_type(get_named_type(field.type)) and not field.args and not field.deprecation_reason
    )


async def _execute(tenant: str, document: str, variables: Mapping[str, Any]) -> Any:
    """Execute an operation with one root field as the system, and return its value. Raises CommandError for what GraphQL refuses."""
    from server.operations import store_admin

    async with open_context(read_settings()):
        scope = await store_admin.find_scope(tenant)
        return await _run(scope, document, variables)


async def _run(scope: Scope, document: str, variables: Mapping[str, Any]) -> Any:
    import orjson

    from kernel.scope import active_scope
    from resolvers.engine.prepare import DocumentCache
    from resolvers.engine.run import OperationExecutor
    from resolvers.root import public_schema

    prepared = DocumentCache(public_schema()).prepare_now(document)
    operation = prepared.operation(None)
    assert not prepared.errors, prepared.errors
    assert operation is not None
    with active_scope(scope):
        result = await OperationExecutor(public_schema(), public=True).execute(scope, prepared, operation, variables)
    for error in result.errors or ():
        raise CommandError(error.message)
    [value] = orjson.loads(orjson.dumps(result.data)).values()
    return value


def _cell(value: object) -> object:
    if isinstance(value, list):
        return ",".join(str(each) for each in value)
    return "" if value is None else value
