"""Every writing operation on orders, carts, stock, promotions and limits races against itself and all others (`tests.system.races`).

No deadlock, no error but refusals, consistent sums. Conflicts are not retried here, so that each one fails the test.
`python -m tests.system.races` sends the same operations over HTTP in greater numbers.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import orjson
import pytest

from auth.privileges import ALL
from domain.gateway import notifications
from domain.ledger.reconciliation import write_queued
from domain.orders.expiry import expire_orders
from domain.orders.lifecycle import change_status
from domain.stores import set_gateway_secret
from kernel.scope import ANONYMOUS, Scope, active_scope
from models.connection import transactions
from resolvers import root
from resolvers.engine.executor import error_code
from resolvers.engine.prepare import DocumentCache
from resolvers.engine.run import OperationExecutor
from tests.harness.domain_store import DomainStore
from tests.harness.payments import enabled_sandbox
from tests.system.races.arena import GATEWAY_SECRET, STAFF, Arena, Refused, create_arena
from tests.system.races.invariants import violations
from tests.system.races.operations import NOT_RACED, OPERATIONS, RACED_MUTATIONS, Operation

TRIES, OTHERS = 12, 1
SIZE = 6
# Refusals by a rule of the store; anything else is a fault.
REFUSALS = {"RULE_VIOLATION", "NOT_FOUND", "CONFLICT", "VALIDATION_FAILED"}


@dataclass(frozen=True)
class DomainClient:
    """Executes operations in this process, on behalf of an administrator and a storefront."""

    kit: DomainStore
    executor: OperationExecutor
    documents: DocumentCache

    async def mutate(self, caller: str, document: str, variables: Mapping[str, Any]) -> Any:
        scope = self.kit.as_admin(privileges=ALL) if caller == STAFF else self.kit.as_storefront(scopes=_KEY_SCOPES)
        prepared = self.documents.prepare_now(document)
        assert prepared.errors == (), prepared.errors
        operation = prepared.operation(None)
        assert operation is not None
        with active_scope(scope):
            result = await self.executor.execute(scope, prepared, operation, variables)
        for error in result.errors or ():
            raise Refused(error_code(error), error.message)
        assert result.data is not None
        [answer] = orjson.loads(orjson.dumps(result.data)).values()  # as a client reads it
        return answer

    async def notify(self, body: bytes, signature: str) -> None:
        visitor = replace(self.kit.scope, actor=ANONYMOUS, family="current")
        await notifications.receive(visitor, body, [signature])

    async def expire(self, minutes: int) -> None:
        await expire_orders(replace(self.kit.scope, now=self.kit.scope.now + timedelta(minutes=minutes)))

    async def write_ledgers(self) -> None:
        while await write_queued(self.kit.scope, limit=200):
            pass

    async def rows(self, sql: str, *params: Any) -> Sequence[Any]:
        return await self.kit.rows(sql, *params)


_KEY_SCOPES = frozenset({"storefront:read", "storefront:cart", "storefront:checkout"})


@pytest.fixture(scope="module")
def executor() -> OperationExecutor:
    return OperationExecutor(root.public_schema(), public=True)


@pytest.fixture(scope="module")
def documents() -> DocumentCache:
    """Return what the server validates once: the mutations of all tests are the same."""
    return DocumentCache(root.public_schema())


@pytest.fixture
async def arena(scope: Scope, executor: OperationExecutor, documents: DocumentCache) -> AsyncIterator[Arena]:
    kit = DomainStore(scope)
    await set_gateway_secret(scope, GATEWAY_SECRET)
    with enabled_sandbox():
        yield await create_arena(DomainClient(kit, executor, documents), SIZE)


def rivals(name: str) -> Mapping[str, Operation]:
    """Return the operations that race against one; those that void an invariant race in their own turn only, so others keep it."""
    own = OPERATIONS[name].voids
    return {other: operation for other, operation in OPERATIONS.items() if own or not operation.voids}


def test_every_pair_of_operations_races() -> None:
    pairs = {frozenset((name, other)) for name in OPERATIONS for other in rivals(name)}
    assert pairs == {frozenset((name, other)) for name in OPERATIONS for other in OPERATIONS}


def test_every_mutation_of_these_records_races() -> None:
    mutations = root.public_schema().mutation_type
    assert mutations is not None
    expected = {name for name in mutations.fields if RACED_MUTATIONS.match(name)}
    raced = {operation.mutation for operation in OPERATIONS.values() if operation.mutation}
    assert raced | NOT_RACED.keys() == expected
    assert not raced & NOT_RACED.keys()


@pytest.mark.slow
@pytest.mark.parametrize("name", OPERATIONS)
async def test_concurrent_writes_do_not_conflict(name: str, arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "MAX_RETRIES", 0)
    others = rivals(name)
    tries = [(name, number) for number in range(TRIES)]
    tries += [(other, number) for number in range(OTHERS) for other in others]
    tries.sort(key=lambda item: item[1] / (TRIES if item[0] == name else OTHERS))  # evenly mixed
    results = await asyncio.gather(
        *(OPERATIONS[each].send(arena, number) for each, number in tries), return_exceptions=True
    )
    outcomes: Counter[str] = Counter()
    for (each, _), result in zip(tries, results, strict=True):
        if isinstance(result, BaseException):
            assert isinstance(result, Refused), (each, result)
            assert result.code in REFUSALS, (each, result)
        else:
            outcomes[each] += 1
    assert outcomes[name] > 0, outcomes
    voids = OPERATIONS[name].voids.union(*(operation.voids for operation in others.values()))
    assert await violations(arena, voids) == []


@pytest.mark.parametrize("round_", range(3))
async def test_cancellations_and_orders_of_a_sold_out_product_do_not_deadlock(scope: Scope, round_: int) -> None:
    kit = DomainStore(scope)
    await kit.delivery()
    for repetition in range(8):
        product = await kit.product(stock=10)
        orders = [await kit.order((product, 1)) for _ in range(10)]
        results = await asyncio.gather(
            *(change_status(scope, order.id, "I") for order in orders),
            *(kit.order((product, 1)) for _ in range(6)),
            return_exceptions=True,
        )
        errors = [result for result in results if isinstance(result, BaseException)]
        assert {getattr(error, "reason", repr(error)) for error in errors} <= {"out_of_stock"}, repetition
        assert await kit.figures(product) == (10, 6 - len(errors)), repetition
