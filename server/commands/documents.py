"""`vitrine documents push`: register the GraphQL documents of a program as the trusted documents of its storefront key or app."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from server.commands.context import open_context, read_settings
from server.commands.errors import CommandError
from server.commands.output import add_json_option, print_json, print_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernel.scope import Scope

_MOST_CHARACTERS = 16_000_000
"""Of a manifest: its documents have 2,000,000 at most, each of which may be an escape."""


def add(commands: Any) -> None:
    """Declare the commands."""
    documents = commands.add_parser("documents", help="manage trusted GraphQL documents")
    document_commands = documents.add_subparsers(title="commands", metavar="COMMAND", required=True)
    push = document_commands.add_parser(
        "push",
        help="register the documents of a manifest",
        description="Register the documents of a manifest, which the GraphQL Code Generator (persistedDocuments), Relay (persistConfig)"
        " or Apollo writes, as trusted documents of a storefront key or an app. Those that are registered stay, for versions of the"
        " program that are still in use. Exit 1, and nothing changes, when a document is not valid in the schema.",
    )
    push.add_argument("file", metavar="FILE", type=Path, help="the manifest: JSON")
    push.add_argument("--tenant", metavar="ID", required=True, help="the store: UUID or host")
    owner = push.add_mutually_exclusive_group(required=True)
    owner.add_argument("--key", metavar="ID", help="the storefront key: its UUID, or its name where one key has it")
    owner.add_argument("--app", metavar="CLIENT_ID", help="the installed app")
    push.add_argument("--replace", action="store_true", help="remove the documents that the manifest doesn't have")
    only = push.add_mutually_exclusive_group()
    only.add_argument("--only", action="store_true", default=None, help="let the key accept nothing else from now on")
    only.add_argument(
        "--accept-others", dest="only", action="store_false", help="let the key accept other documents again"
    )
    add_json_option(push, _push)


async def _push(args: argparse.Namespace) -> None:
    from domain.apps.trusted_documents import read_manifest, set_trusted_documents
    from kernel.scope import active_scope
    from server.operations import store_admin

    if args.app and args.only is not None:
        raise CommandError("--only and --accept-others are for storefront keys")
    try:
        texts = read_manifest(json.loads(_read(args.file)))
    except (OSError, RecursionError, ValueError) as error:
        raise CommandError(f"{args.file}: {error}") from error
    _check_documents(args.file, texts)
    async with open_context(read_settings()):
        scope = await store_admin.find_scope(args.tenant)
        with active_scope(scope):
            if args.app:
                scope, key = await _scope_of_app(scope, args.app), None
            else:
                key = await _find_key(scope, args.key)
            result = await set_trusted_documents(
                scope, texts, key, keep_others=not args.replace, trusted_documents_only=args.only
            )
    if args.json:
        print_json(
            {"pushed": len(texts), "documents": result.count, "trusted_documents_only": result.trusted_documents_only}
        )
    else:
        others = "nothing else is accepted" if result.trusted_documents_only else "other documents are accepted too"
        print_line(f"{len(texts)} documents pushed; {result.count} are registered, {others}")


def _read(file: Path) -> str:
    with file.open(encoding="utf-8") as opened:
        text = opened.read(_MOST_CHARACTERS + 1)  # a device has no end
    if len(text) > _MOST_CHARACTERS:
        raise CommandError(f"{file} has more than {_MOST_CHARACTERS:,} characters; expected a manifest")
    return text


def _check_documents(file: Path, texts: Sequence[str]) -> None:
    """Refuse a document that is not valid in this version's schema."""
    from kernel.errors import TooComplex
    from resolvers import root
    from resolvers.engine.prepare import prepare_document

    for text in texts:
        try:
            errors = [error.message for error in prepare_document(root.public_schema(), text, limited=True).errors]
        except TooComplex as problem:
            errors = [problem.message]
        if errors:
            raise CommandError(f"{file}: {errors[0]} in {' '.join(text.split())[:80]}")


async def _scope_of_app(scope: Scope, client_id: str) -> Scope:
    """Return the scope with the installed app as the actor."""
    from kernel.scope import Actor, ActorKind
    from models.connection import database

    number = await database.fetchval(
        "SELECT i.id FROM app_installations i JOIN apps a ON a.id = i.app_id"
        " WHERE i.tenant_id = $1 AND a.client_id = $2 AND i.removed_at IS NULL",
        scope.store.id,
        client_id,
    )
    if number is None:
        raise CommandError(f"no app with the client id {client_id} is installed in the store")
    return replace(scope, actor=Actor(ActorKind.APP, installation_id=number, credential=f"app:{number}"))


async def _find_key(scope: Scope, reference: str) -> str:
    """Return the UUID of a storefront key by its UUID or name."""
    from models.connection import database

    rows = await database.fetch(
        "SELECT public_id FROM storefront_keys WHERE tenant_id = $1 AND revoked_at IS NULL AND $2 IN (public_id::text, name)",
        scope.store.id,
        reference,
    )
    if len(rows) != 1:
        raise CommandError(f"{len(rows)} storefront keys have the UUID or name {reference}; expected one")
    return str(rows[0]["public_id"])
