"""The hand-written handlers of the benchmark return what Vitrine does: a field added to Vitrine alone would end the next `make bench`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from bench import launchers
from bench.database import Size, StatementLog, create_database
from bench.measurement import Measurement, Schedule
from bench.requests import RequestData, Workload
from bench.workloads import WORKLOADS
from server.embedded_postgres import EmbeddedServer
from tests.server.redis_server import needs_redis

SIZE = Size(products=600, users=60, orders=400)
pytestmark = [needs_redis, pytest.mark.redis]
COMPARED = [item for item in WORKLOADS if {"limit", "vitrine"} <= item.requests_by_contestant.keys()]


@pytest.fixture(scope="module")
def measurement(postgres: EmbeddedServer) -> Iterator[Measurement]:
    name = f"bench_{os.getpid()}"
    database = asyncio.run(create_database(postgres, Path(os.devnull), name, SIZE))
    with ExitStack() as stack:
        servers = {
            contestant: stack.enter_context(launchers.CONTESTANTS[contestant](database))
            for contestant in ("limit", "vitrine")
        }
        result = Measurement(servers, RequestData(SIZE), StatementLog(database), Schedule(1, 1.0))
        result.sign_in()
        yield result


@pytest.mark.parametrize("item", COMPARED, ids=[item.name for item in COMPARED])
def test_both_return_the_same(measurement: Measurement, item: Workload) -> None:
    measurement.compare(item)
