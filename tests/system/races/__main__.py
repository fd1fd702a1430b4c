"""Race the writing operations over HTTP: `python -m tests.system.races --writes 10000`.

Rounds of random operations, many at a time, against one `vitrine serve` in production mode; after each round the records are checked.
Prints the writes, the answers by status, the conflicts that were retried, and those that a client saw. Exits with 1 on a conflict that a
client saw, an unexpected answer, or a record that is wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import IPv4Address
from time import monotonic
from typing import Any
from uuid import UUID

import aiohttp
import asyncpg
import orjson

import auth
from bench import deployment
from bench.database import BenchDatabase, Size, running_postgres
from bench.launchers import SECRET, vitrine
from bench.servers import LOGS, ROOT
from domain.ledger.reconciliation import write_queued
from domain.orders.expiry import expire_orders
from domain.stores import find_store
from kernel.clock import now
from kernel.errors import DomainError
from kernel.ids import uuid7
from kernel.scope import SYSTEM, Scope, Store
from models.connection import database, transactions
from models.migrate import migrate
from server.embedded_postgres.data_folder import OWNER
from tests.system.races.arena import GATEWAY_SECRET, STAFF, Arena, Refused, create_arena
from tests.system.races.invariants import violations
from tests.system.races.operations import OPERATIONS

DATABASE = "races"
ROUND, CONCURRENT, SIZE = 250, 24, 8
PASSWORD = "correct horse battery"
_EMAIL = "races@example.com"
_EXPECTED = {"ok", "RULE_VIOLATION", "NOT_FOUND", "CONFLICT", "VALIDATION_FAILED"}
_SET_SECRET = "mutation ($secret: String!) { store_gateway_secret_set(secret: $secret) { id } }"


@dataclass
class HttpClient:
    """Sends operations to a store over HTTP; its jobs and its queries use the database."""

    session: aiohttp.ClientSession
    base_url: str
    store: Store
    key: str
    inspector: asyncpg.Pool
    token: str = ""

    async def sign_in(self) -> None:
        """Renew the administrator's access token, which lives 15 minutes; from another address, as each may sign in 5 times a minute."""
        body = {"email": _EMAIL, "password": PASSWORD}
        address = {"X-Forwarded-For": str(IPv4Address(random.randrange(0x0B00_0000, 0x7F00_0000)))}
        self.token = (await self._post("/api/v1/auth/login", body, address))["access_token"]

    async def mutate(self, caller: str, document: str, variables: Mapping[str, Any]) -> Any:
        credential = {"Authorization": f"Bearer {self.token}"} if caller == STAFF else {"X-API-Key": self.key}
        answer = await self._post("/graphql", {"query": document, "variables": variables}, credential)
        for error in answer.get("errors", ()):
            raise Refused(error["extensions"]["code"], error["message"])
        return next(iter(answer["data"].values()))

    async def notify(self, body: bytes, signature: str) -> None:
        await self._post("/api/v1/webhooks/gateway", body, {"X-Hub-Signature-256": signature})

    async def expire(self, minutes: int) -> None:
        try:
            await expire_orders(self._system(timedelta(minutes=minutes)))
        except DomainError as error:
            raise Refused(error.code, error.message) from error

    async def write_ledgers(self) -> None:
        while await write_queued(self._system(), limit=200):
            pass

    async def rows(self, sql: str, *params: Any) -> Sequence[Any]:
        rows: Sequence[Any] = await self.inspector.fetch(sql, self.store.id, *params)
        return rows

    def _system(self, later: timedelta = timedelta()) -> Scope:
        return Scope(self.store, SYSTEM, f"races-{uuid7()}", now() + later)

    async def _post(self, path: str, body: object, headers: Mapping[str, str]) -> Any:
        named = {"Content-Type": "application/json", "X-Tenant-ID": str(self.store.public_id), **headers}
        data = body if isinstance(body, bytes) else orjson.dumps(body)
        async with self.session.post(f"{self.base_url}{path}", data=data, headers=named) as answer:
            raw = await answer.read()
            if answer.status >= 400:
                raise Refused(f"HTTP {answer.status}", raw.decode(errors="replace")[:500])
            return orjson.loads(raw)


@dataclass
class Tally:
    """What a run counted."""

    answers: Counter[str]
    by_operation: Counter[str]
    wrong: list[str]

    async def send(self, arena: Arena, name: str, number: int) -> None:
        """Send an operation and count its answer."""
        try:
            await OPERATIONS[name].send(arena, number)
        except Refused as refused:
            self.answers[refused.code] += 1
            if refused.code not in _EXPECTED:
                self.wrong.append(f"{name}: {refused}")
        else:
            self.answers["ok"] += 1
            self.by_operation[name] += 1


async def _race(client: HttpClient, writes: int) -> Tally:
    """Send the operations in rounds; every other round keeps the invariants that some operations void."""
    tally = Tally(Counter(), Counter(), [])
    for number in range(0, writes, ROUND):
        await client.sign_in()
        arena = await create_arena(client, SIZE)
        strict = number // ROUND % 2 == 0
        names = [name for name, operation in OPERATIONS.items() if not (strict and operation.voids)]
        slots = asyncio.Semaphore(CONCURRENT)

        async def send(turn: int, arena: Arena = arena, names: Sequence[str] = names, slots: Any = slots) -> None:
            async with slots:
                await tally.send(arena, random.choice(names), turn)

        await asyncio.gather(*(send(turn) for turn in range(min(ROUND, writes - number))))
        voids = frozenset().union(*(OPERATIONS[name].voids for name in names))
        tally.wrong += await violations(arena, voids)
        print(f"\r{number + ROUND:,} writes", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return tally


@asynccontextmanager
async def _client(benched: BenchDatabase, base_url: str, tenant: str, key: str) -> AsyncIterator[HttpClient]:
    auth.configure(SECRET.encode())
    await database.connect(database.DatabaseSettings(benched.owner_url))
    connector = aiohttp.TCPConnector(limit=0)
    inspection = asyncpg.create_pool(benched.superuser_url, min_size=1, max_size=2)
    try:
        async with inspection as inspector, aiohttp.ClientSession(connector=connector) as session:
            client = HttpClient(session, base_url, await find_store(UUID(tenant)), key, inspector)
            await client.sign_in()
            await client.mutate(STAFF, _SET_SECRET, {"secret": GATEWAY_SECRET})
            yield client
    finally:
        await database.close()


def _command(benched: BenchDatabase, *arguments: str) -> Any:
    """Run a `vitrine` command and return the JSON it prints."""
    environment = {
        "DATABASE_URL": benched.owner_url,
        "VITRINE_SECRET_KEY": SECRET,
        "VITRINE_ENV": "production",
    }
    command = [sys.executable, "-m", "server.cli", *arguments, "--json"]
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    return orjson.loads(done.stdout)


async def _create_database(benched: BenchDatabase) -> None:
    connection = await asyncpg.connect(benched.server.superuser_url())
    await connection.execute(f"create database {DATABASE} owner {OWNER}")
    await connection.close()
    await migrate(benched.owner_url)


async def _run(benched: BenchDatabase, writes: int) -> int:
    await _create_database(benched)
    owner = ("--owner-email", _EMAIL, "--owner-name", "Ana Souza", "--owner-password", PASSWORD)
    tenant = _command(benched, "tenant", "create", "Races", "--host", "races.test", *owner)["tenant_id"]
    limits = ("--per-address", "0", "--rate-limit", "100000")
    key = _command(benched, "storefront-key", "create", "--tenant", tenant, *limits)["storefront_key"]
    with vitrine(benched, settings={"VITRINE_SANDBOX_PAYMENTS": "1"}) as server:
        async with _client(benched, f"http://localhost:{server.address[1]}", tenant, key) as client:
            began = monotonic()
            tally = await _race(client, writes)
            seconds = monotonic() - began
            deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database() AND $1::bigint > 0"
            [detected] = await client.rows(deadlocks)
    return _report(tally, seconds, detected["deadlocks"])


def _report(tally: Tally, seconds: float, deadlocks: int) -> int:
    log = (LOGS / "vitrine.log").read_text(encoding="utf-8", errors="replace")
    retried = len(re.findall(re.escape(transactions.RETRIED), log))
    visible = tally.answers["UNAVAILABLE"] + tally.answers["HTTP 503"]
    print(f"writes                             {tally.answers.total():,} in {seconds:.0f} s")
    for code, count in tally.answers.most_common():
        print(f"  {code:<32} {count:,}")
    print(f"conflicts that a client saw        {visible}")
    print(f"conflicts retried                  {retried}")
    print(f"deadlocks that PostgreSQL resolved {deadlocks}")
    never = sorted(OPERATIONS.keys() - tally.by_operation.keys())
    print(f"operations that never succeeded    {', '.join(never) or 'none'}")
    for sentence in tally.wrong[:20]:
        print(f"WRONG {sentence}")
    return 1 if tally.wrong or visible or never else 0


def main() -> int:
    """Run the races and print what was counted."""
    parser = argparse.ArgumentParser(prog="tests.system.races", description=__doc__)
    parser.add_argument("--writes", type=int, default=10_000, help="number of writes (10000)")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32), help="of the choice of operations")
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    print(f"seed {arguments.seed}")
    deployment.redis_url()  # starts it with an event loop of its own
    with running_postgres() as (server, log):
        return asyncio.run(_run(BenchDatabase(server, DATABASE, Size(), log), arguments.writes))


if __name__ == "__main__":
    sys.exit(main())
