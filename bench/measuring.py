"""Compare what the contestants answer, count their statements, then measure them in alternating rounds."""

from __future__ import annotations

import asyncio
import itertools
import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from bench import load
from bench.database import PASSWORD, StatementLog
from bench.load import Sample, WrongAnswer, ask
from bench.servers import Server
from bench.work import Facts, Item, http

CONNECTIONS = 8
_COUNTED = 4
_WARM_UP_REQUESTS = 24
_WARM_UP_SECONDS = 0.5


class Different(Exception):
    """Tell that two contestants answered differently: they would not have been measured at equal work."""


@dataclass(frozen=True)
class Pace:
    """How long and how often each is measured."""

    rounds: int
    seconds: float


@dataclass
class Result:
    """What one contestant did at one item.

    `cpu_us` is the server's processor time for a request, by round: it says more than the rate where others use the machine too.
    `statements` are those of a request, BEGIN and COMMIT included.
    """

    item: str
    contestant: str
    samples: list[Sample] = field(default_factory=list)
    cpu_us: list[float] = field(default_factory=list)
    statements: float | None = None
    memory_mb: float = 0.0

    def median(self, of: str) -> float:
        return float(statistics.median(getattr(sample, of) for sample in self.samples))

    @property
    def shown(self) -> dict[str, Any]:
        return {
            "item": self.item,
            "contestant": self.contestant,
            "rate": round(self.median("rate"), 1),
            "p50_ms": round(self.median("p50"), 3),
            "p99_ms": round(self.median("p99"), 3),
            "cpu_us": round(statistics.median(self.cpu_us), 1),
            "bytes": self.samples[-1].size,
            "statements": self.statements,
            "memory_mb": round(self.memory_mb, 1),
            "rounds": [
                {name: round(value, 3) for name, value in asdict(each).items()} for each in self.samples
            ],
        }


_sign_ins = itertools.count()


def signed_in(server: Server, facts: Facts) -> str:
    """Give an access token of the store's owner; it lives for 15 minutes."""
    number = next(_sign_ins)  # five attempts a minute are let through from an address
    address = f"10.254.{number >> 8 & 255}.{number & 255}"
    headers = {"X-Tenant-ID": facts.store_id, "X-Forwarded-For": address}
    given = {"email": "user1@example.com", "password": PASSWORD}
    answer = ask(server.address, http("POST", "/api/v1/auth/login", headers, given))
    if answer.status != 200:
        raise WrongAnswer(f"sign-in answered {answer.status}: {answer.body[:300]!r}")
    return str(json.loads(answer.body)["access_token"])


def signed_in_at_limit(server: Server) -> str:
    """Give an access token of the hand-written handlers, who count no attempts."""
    answer = ask(
        server.address, http("POST", "/a1", {}, {"email": "user1@example.com", "password": PASSWORD})
    )
    return str(json.loads(answer.body)["access_token"])


class Measuring:
    """One run over the same database: servers by name, and what is asked of them."""

    def __init__(self, servers: Mapping[str, Server], facts: Facts, log: StatementLog, pace: Pace) -> None:
        self._servers = servers
        self._facts = facts
        self._log = log
        self._pace = pace

    def measure(self, item: Item) -> list[Result]:
        """Do an item; raises Different and WrongAnswer."""
        if "vitrine" in self._servers:
            self._facts.token = signed_in(self._servers["vitrine"], self._facts)
        if "limit" in self._servers:
            self._facts.limit_token = signed_in_at_limit(self._servers["limit"])
        asked = {name: item.asks[name](self._facts) for name in self._servers if name in item.asks}
        self._compare(item, asked)
        results = {name: Result(item.name, name) for name in asked}
        for name, requests in asked.items():
            results[name].statements = self._statements(self._servers[name], requests)
        self._rounds(asked, results)
        for name, result in results.items():
            result.memory_mb = self._servers[name].memory_mb
        return list(results.values())

    def _compare(self, item: Item, asked: Mapping[str, Sequence[bytes]]) -> None:
        count = min(len(requests) for requests in asked.values())
        for place in sorted({0, count // 2, count - 1}) if not item.writes else [0]:
            answers = {name: self._answer(name, item, requests[place]) for name, requests in asked.items()}
            first = next(iter(answers))
            for name, answer in answers.items():
                if answer != answers[first]:
                    raise Different(
                        f"{item.name}: {name} and {first} differ at {_difference(answers[first], answer)}"
                    )

    def _answer(self, name: str, item: Item, request: bytes) -> Any:
        answer = ask(self._servers[name].address, request)
        try:
            return item.reshape(json.loads(answer.body))
        except (ValueError, KeyError, TypeError, AttributeError, AssertionError) as error:
            raise WrongAnswer(
                f"{item.name}: {name} answered {answer.status}: {answer.body[:500].decode(errors='replace')}"
            ) from error

    def _statements(self, server: Server, requests: Sequence[bytes]) -> float:
        """Count the statements of a request, once those that make a connection ready are past."""

        async def counted() -> float:
            for number in range(_WARM_UP_REQUESTS):
                ask(server.address, requests[number % len(requests)])
            await self._log.on(True)
            ask(server.address, requests[_WARM_UP_REQUESTS % len(requests)])
            begun = self._log.position()
            for number in range(_COUNTED):
                ask(server.address, requests[(_WARM_UP_REQUESTS + 1 + number) % len(requests)])
            await asyncio.sleep(0.05)
            found = self._log.since(begun)
            await self._log.on(False)
            return len(found) / _COUNTED

        return asyncio.run(counted())

    def _rounds(self, asked: Mapping[str, Sequence[bytes]], results: Mapping[str, Result]) -> None:
        done = dict.fromkeys(asked, 100)
        for name, requests in asked.items():
            self._run(name, requests, _WARM_UP_SECONDS, done)
        names = list(asked)
        for number in range(self._pace.rounds):
            turned = names[number % len(names) :] + names[: number % len(names)]
            for name in turned:
                before = self._servers[name].cpu_seconds
                sample = self._run(name, asked[name], self._pace.seconds, done)
                cpu = self._servers[name].cpu_seconds - before
                results[name].samples.append(sample)
                results[name].cpu_us.append(cpu / (sample.rate * self._pace.seconds) * 1e6)

    def _run(self, name: str, requests: Sequence[bytes], seconds: float, done: dict[str, int]) -> Sample:
        """Measure for one slot, going on in the requests where the last slot ended."""
        try:
            sample = load.run(
                self._servers[name].address,
                requests,
                connections=CONNECTIONS,
                seconds=seconds,
                first=done[name],
            )
        except WrongAnswer as error:
            raise WrongAnswer(f"{name}: {error}") from error
        done[name] += int(sample.rate * seconds) + CONNECTIONS
        return sample


def _difference(one: Any, other: Any, path: str = "the answer") -> str:
    """Say where two answers part first."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        parted = next(key for key in one if one[key] != other[key])
        return _difference(one[parted], other[parted], f"{path}.{parted}")
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        place = next(place for place in range(len(one)) if one[place] != other[place])
        return _difference(one[place], other[place], f"{path}[{place}]")
    return f"{path}: {str(one)[:300]} and {str(other)[:300]}"
