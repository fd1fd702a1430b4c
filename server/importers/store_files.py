"""Create the stores of a file, CSV or JSON Lines: `vitrine tenant create --from FILE` (docs/deploy.md#many-stores).

A store that has one of a line's hosts is that line's store, so that a file can be repeated: an owner that is missing is created then.
Several lines are created at a time, because a creation mostly waits: for its password's hash in a thread, and for the database.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any
from uuid import UUID

from domain import stores
from domain.hosts import parse_store_host
from domain.people.account_fields import ACCOUNT_FIELDS, split_name
from kernel import logging
from kernel.errors import Conflict, DomainError, ValidationFailed
from kernel.fields import read_fields
from kernel.ids import random_token
from kernel.scope import Store
from server.importers.file_rows import Column, FileRow, RecordFormat
from server.importers.file_values import list_of, texts
from server.operations import store_admin

STORE_FILE = RecordFormat(
    {
        "name": Column("name"),
        "hosts": Column("hosts", texts, list_of(str, "host names")),
        "currency": Column("currency"),
        "owner_email": Column("email"),
        "owner_name": Column("owner_name"),
        "owner_password": Column("password"),
    }
)
BATCH = 100
_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class StoreResult:
    """What became of a line: `created`, `exists` or `refused`, with what is shown once only; `errors` by column.

    A store that was created has errors if its owner was not.
    """

    line: int
    state: str
    tenant_id: UUID | None = None
    hosts: tuple[str, ...] = ()
    gateway_secret: str | None = None
    owner: dict[str, str] | None = None
    errors: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the `--json` form."""
        shown: dict[str, Any] = {"line": self.line, "state": self.state}
        if self.tenant_id is not None:
            shown |= {"tenant_id": str(self.tenant_id), "hosts": list(self.hosts)}
        if self.gateway_secret is not None:
            shown["gateway"] = {"secret_key": self.gateway_secret}
        if self.owner is not None:
            shown["owner"] = self.owner
        return shown | ({"errors": list(self.errors)} if self.errors else {})


async def create_stores(rows: Iterable[FileRow]) -> AsyncIterator[StoreResult]:
    """Yield what became of each line, in the order of the file, as soon as it is known.

    When the task is cancelled, what was begun is finished and yielded first: its secrets are shown once.
    """
    lines = iter(rows)
    while batch := list(islice(lines, BATCH)):
        known = await store_admin.stores_by_host(_hosts(batch))
        begun: deque[asyncio.Task[StoreResult]] = deque()
        named: set[str] = set()
        try:
            for row in batch:
                hosts = _names(row)
                while begun and named & hosts:  # the first line of a host creates its store
                    yield await _first(begun)
                named |= hosts
                begun.append(asyncio.create_task(_create(row, known)))
                if len(begun) == _AT_ONCE:
                    yield await _first(begun)
            while begun:
                yield await _first(begun)
        except asyncio.CancelledError:
            while begun:
                yield await _first(begun)
            raise


async def _first(begun: deque[asyncio.Task[StoreResult]]) -> StoreResult:
    result = await asyncio.shield(begun[0])
    del begun[0]
    return result


def _hosts(batch: Sequence[FileRow]) -> list[str]:
    return [host.lower() for row in batch if not row.errors for host in row.values.get("hosts") or ()]


def _names(row: FileRow) -> set[str]:
    return {host.partition(":")[0] for host in _hosts([row])}


async def _create(row: FileRow, known: dict[str, Store]) -> StoreResult:
    if row.errors:
        return StoreResult(
            row.line, "refused", errors=tuple(f"{each.column} {each.message}".strip() for each in row.errors)
        )
    values = {"currency": "BRL", **row.values}
    try:
        hosts = tuple(parse_store_host(host) for host in values.get("hosts") or ())
        if not hosts:
            raise ValidationFailed(
                "hosts are missing; expected at least one, by which a repeated file recognizes the store"
            )
        owner = read_owner(values.get("email"), values.get("owner_name", ""), values.get("password"))
        store = _existing(hosts, known)
        return await (
            _create_new(row.line, values, hosts, owner) if store is None else _complete(row.line, store, hosts, owner)
        )
    except DomainError as error:
        return StoreResult(row.line, "refused", errors=(error.message,))
    except Exception as error:  # the other lines are created
        logging.failure("a store of a file could not be created", error, line=row.line)
        return StoreResult(row.line, "refused", errors=(f"unexpected {type(error).__name__}",))


def _existing(hosts: Sequence[str], known: dict[str, Store]) -> Store | None:
    owners = {store.id: store for host in hosts if (store := known.get(host)) is not None}
    if len(owners) > 1:
        raise Conflict("the addresses belong to several stores", reason="host_taken")
    return next(iter(owners.values()), None)


def read_owner(email: Any, name: Any, password: Any) -> dict[str, Any] | None:
    """Validate the data of an owner, None without an e-mail; a password is generated where there is none."""
    if email is None:
        if name or password:
            raise ValidationFailed("an owner's name and password need an e-mail", field="owner_email")
        return None
    values = split_name({"email": email, "password": password or random_token(96), "name": name})
    read_fields(ACCOUNT_FIELDS, values, creating=True)
    return values


async def _create_new(
    line: int, values: dict[str, Any], hosts: tuple[str, ...], owner: dict[str, Any] | None
) -> StoreResult:
    try:
        new = await stores.create_store({name: values.get(name) for name in ("name", "currency")}, hosts=hosts)
    except Conflict:
        # Another line, or another run of the command, was first.
        store = _existing(hosts, await store_admin.stores_by_host(hosts))
        if store is None:
            raise
        return await _complete(line, store, hosts, owner)
    result = StoreResult(line, "created", new.store.public_id, hosts, new.gateway_secret)
    if owner is None:
        return result
    try:
        return replace(result, owner=await _create_owner(new.store, owner))
    except DomainError as error:
        message = error.message
    except Exception as error:  # the store is there, and its secret is shown once
        logging.failure("the owner of a store of a file could not be created", error, line=line)
        message = f"unexpected {type(error).__name__}"
    return replace(result, errors=(f"owner: {message}",))


async def _complete(line: int, store: Store, hosts: tuple[str, ...], owner: dict[str, Any] | None) -> StoreResult:
    """Report a store that exists, and create its owner when an interrupted run had not."""
    created = None if owner is None or store.owner_id is not None else await _create_owner(store, owner)
    return StoreResult(line, "exists", store.public_id, hosts, owner=created)


async def _create_owner(store: Store, owner: dict[str, Any]) -> dict[str, str]:
    user = await store_admin.create_owner(store, owner)
    return {"user_id": str(user.public_id), "email": owner["email"], "password": owner["password"]}
