"""An order reads the users whom it notifies, not all users of its store, with the planner of each PostgreSQL that Vitrine runs on."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from domain.purchase.placement import place_order
from kernel.scope import Scope, active_scope
from models.connection import database as db
from models.connection.database import execute, fetchval, transaction
from server.embedded_postgres import EmbeddedServer
from tests.harness.database import connected_to_new_database
from tests.harness.domain_store import DomainStore
from tests.harness.store_sizes import analyze

USERS = 3_000
MOST = 20
_ADD = """
insert into users (tenant_id, public_id, email, user_type)
select $1, gen_random_uuid(), n || '@example.com', 'C' from generate_series(1, $2::bigint) n
"""
_READ = "select seq_tup_read + coalesce(idx_tup_fetch, 0) from pg_stat_xact_user_tables where relname = 'users'"
_NOTIFIED = "SELECT user_id FROM notifications WHERE tenant_id = $1 AND type = 'order'"


@pytest.fixture
async def own_database_url(postgres: EmbeddedServer, database: db.DatabaseSettings) -> AsyncIterator[str]:
    """Connect this process with a database of its own, whose statistics are of one store."""
    async with connected_to_new_database(postgres, database, first_store=5_000_000) as url:
        yield url


async def test_an_order_reads_no_users_but_those_who_are_notified(own_database_url: str, scope: Scope) -> None:
    kit = DomainStore(scope)
    cup, customer = await kit.product(), await kit.customer()
    draft = {"user": customer, "shipping_method": await kit.delivery(), "lines": [{"product": cup, "quantity": 1}]}
    with active_scope(scope):
        await execute(_ADD, scope.store.id, USERS)
    await analyze(own_database_url)
    async with transaction(scope):
        before = await fetchval(_READ)
        await place_order(scope, draft)
        read = await fetchval(_READ) - before
    assert 0 < read <= MOST
    assert [row["user_id"] for row in await kit.rows(_NOTIFIED)] == [customer]
