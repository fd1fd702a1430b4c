"""Compare the contestants' responses, count their statements, then measure them in alternating rounds."""

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
from bench.load import Sample, UnexpectedResponse, send_request
from bench.requests import RequestData, Workload, http
from bench.servers import Server

CONNECTIONS = 8
_CALIBRATION_SECONDS = 0.5
_CALIBRATIONS = 3
_COUNTED_REQUESTS = 4
_WARM_UP_REQUESTS = 24
_WARM_UP_SECONDS = 0.5


CACHED, REVALIDATED = "cached", "revalidated"
"""The contestants that answer every request from memory, and with 304."""


class ResponsesDiffer(Exception):
    """Two contestants returned different responses, so they would not do the same work."""


@dataclass(frozen=True)
class Schedule:
    """Number and duration of the rounds."""

    rounds: int
    seconds: float


@dataclass
class Result:
    """The result of one contestant for one workload.

    `cpu_us` is the server's CPU time per request, by round: more reliable than the rate on a shared machine; `database_us` is PostgreSQL's.
    `statements` is the number per request, including BEGIN and COMMIT. `style` is that of the hand-written handler.
    """

    item: str
    contestant: str
    samples: list[Sample] = field(default_factory=list)
    cpu_us: list[float] = field(default_factory=list)
    database_us: list[float] = field(default_factory=list)
    statements: float | None = None
    memory_mb: float = 0.0
    style: str = ""

    def median(self, name: str) -> float:
        return float(statistics.median(getattr(sample, name) for sample in self.samples))

    @property
    def total_cpu_us(self) -> float:
        """The CPU time per request of server and database together."""
        return statistics.median(map(sum, zip(self.cpu_us, self.database_us, strict=True)))

    @property
    def as_json(self) -> dict[str, Any]:
        return {
            "item": self.item,
            "contestant": self.contestant,
            "style": self.style,
            "rate": round(self.median("rate"), 1),
            "p50_ms": round(self.median("p50"), 3),
            "p99_ms": round(self.median("p99"), 3),
            "cpu_us": round(statistics.median(self.cpu_us), 1),
            "database_us": round(statistics.median(self.database_us), 1) if self.database_us else None,
            "bytes": self.samples[-1].size,
            "statements": self.statements,
            "memory_mb": round(self.memory_mb, 1),
            "rounds": [{name: round(value, 3) for name, value in asdict(sample).items()} for sample in self.samples],
        }


_sign_ins = itertools.count()


def sign_in(server: Server, data: RequestData) -> str:
    """Return an access token of the store's owner, valid for 15 minutes."""
    number = next(_sign_ins)  # a different address each time: the rate limit is five per minute
    address = f"10.254.{number >> 8 & 255}.{number & 255}"
    headers = {"X-Tenant-ID": data.store_id, "X-Forwarded-For": address}
    credentials = {"email": "user1@example.com", "password": PASSWORD}
    response = send_request(server.address, http("POST", "/api/v1/auth/login", headers, credentials))
    if response.status != 200:
        raise UnexpectedResponse(f"sign-in returned {response.status}: {response.body[:300]!r}")
    return str(json.loads(response.body)["access_token"])


def sign_in_at_limit(server: Server) -> str:
    """Return an access token of the hand-written handlers, which have no rate limit for sign-in."""
    response = send_request(
        server.address, http("POST", "/a1", {}, {"email": "user1@example.com", "password": PASSWORD})
    )
    return str(json.loads(response.body)["access_token"])


def styles_of(server: Server, item: Workload) -> list[str]:
    """Return the styles of the hand-written handler; [""] for a write."""
    styles: dict[str, list[str]] = json.loads(send_request(server.address, http("GET", "/", {})).body)
    return styles.get(item.name, [""])


def fastest_style(server: Server, item: Workload, data: RequestData) -> str:
    """Return the style in which the hand-written handler serves most requests; "" for a write."""
    styles = styles_of(server, item)
    if len(styles) == 1:
        return styles[0]
    best_rates = dict.fromkeys(styles, 0.0)
    for _ in range(_CALIBRATIONS):
        for style in styles:
            data.limit_style = style
            requests = item.requests_by_contestant["limit"](data)
            sample = load.run(server.address, requests, connections=CONNECTIONS, seconds=_CALIBRATION_SECONDS)
            best_rates[style] = max(best_rates[style], sample.rate)
    return max(best_rates, key=lambda style: best_rates[style])


class Measurement:
    """One benchmark run of several servers on the same database."""

    def __init__(self, servers: Mapping[str, Server], data: RequestData, log: StatementLog, schedule: Schedule) -> None:
        self._servers = servers
        self._data = data
        self._log = log
        self._schedule = schedule

    def measure(self, item: Workload) -> list[Result]:
        """Measure a workload; raise ResponsesDiffer or UnexpectedResponse."""
        self.sign_in()
        if "limit" in self._servers:
            self._data.limit_style = fastest_style(self._servers["limit"], item, self._data)
        requests_by_name = self._requests(item)
        self._compare(item, requests_by_name)
        results = {
            name: Result(item.name, name, style=self._data.limit_style if name == "limit" else "")
            for name in requests_by_name
        }
        sent = dict.fromkeys(requests_by_name, 1)
        for name, requests in requests_by_name.items():
            results[name].statements = self._statements(self._servers[name], requests, sent[name])
            sent[name] += _WARM_UP_REQUESTS + 1 + _COUNTED_REQUESTS
        self._rounds(item, requests_by_name, results, sent)
        for name, result in results.items():
            result.memory_mb = self._servers[name].memory_mb
        return list(results.values())

    def sign_in(self) -> None:
        """Get the access tokens of the next requests."""
        if "vitrine" in self._servers:
            self._data.token = sign_in(self._servers["vitrine"], self._data)
        if "limit" in self._servers:
            self._data.limit_token = sign_in_at_limit(self._servers["limit"])

    def compare(self, item: Workload) -> None:
        """Compare the responses, those of the hand-written handlers in all their styles; raise ResponsesDiffer or UnexpectedResponse."""
        for style in styles_of(self._servers["limit"], item):
            self._data.limit_style = style
            self._compare(item, self._requests(item))

    def _requests(self, item: Workload) -> dict[str, Sequence[bytes]]:
        return {
            name: item.requests_by_contestant[name](self._data)
            for name in self._servers
            if name in item.requests_by_contestant
        }

    def _compare(self, item: Workload, requests_by_name: Mapping[str, Sequence[bytes]]) -> None:
        count = min(len(requests) for requests in requests_by_name.values())
        for index in sorted({0, count // 2, count - 1}) if not item.writes else [0]:
            responses = {
                name: self._normalized_response(name, item, requests[index])
                for name, requests in requests_by_name.items()
                if name != REVALIDATED
            }
            first = next(iter(responses))
            for name, response in responses.items():
                if response != responses[first]:
                    raise ResponsesDiffer(
                        f"{item.name}: {name} and {first} differ at {_difference(responses[first], response)}"
                    )

    def _normalized_response(self, name: str, item: Workload, request: bytes) -> Any:
        response = send_request(self._servers[name].address, request)
        try:
            return item.normalize(json.loads(response.body))
        except (ValueError, KeyError, TypeError, AttributeError, AssertionError) as error:
            raise UnexpectedResponse(
                f"{item.name}: {name} returned {response.status}: {response.body[:500].decode(errors='replace')}"
            ) from error

    def _statements(self, server: Server, requests: Sequence[bytes], first: int) -> float:
        """Count the statements of a request, after those that set up the connections."""
        numbers = itertools.count(first)

        def send(count: int) -> None:
            for _ in range(count):
                send_request(server.address, requests[next(numbers) % len(requests)])

        async def count() -> float:
            send(_WARM_UP_REQUESTS)
            await self._log.enable(True)
            send(1)
            position = self._log.position()
            send(_COUNTED_REQUESTS)
            await asyncio.sleep(0.05)
            statements = self._log.since(position)
            await self._log.enable(False)
            return len(statements) / _COUNTED_REQUESTS

        return asyncio.run(count())

    def _rounds(
        self,
        item: Workload,
        requests_by_name: Mapping[str, Sequence[bytes]],
        results: Mapping[str, Result],
        sent: dict[str, int],
    ) -> None:
        for name in requests_by_name:
            if name == CACHED:
                for request in requests_by_name[name]:
                    send_request(self._servers[name].address, request)
            self._run(name, item, requests_by_name[name], _WARM_UP_SECONDS, sent)
        names = list(requests_by_name)
        for number in range(self._schedule.rounds):
            rotated = names[number % len(names) :] + names[: number % len(names)]
            for name in rotated:
                before, database_before = self._servers[name].cpu_seconds, self._log.database.cpu_seconds
                sample = self._run(name, item, requests_by_name[name], self._schedule.seconds, sent)
                cpu = self._servers[name].cpu_seconds - before
                database_cpu = self._log.database.cpu_seconds - database_before
                results[name].samples.append(sample)
                results[name].cpu_us.append(cpu / sample.sent * 1e6)
                results[name].database_us.append(database_cpu / sample.sent * 1e6)

    def _run(
        self, name: str, item: Workload, requests: Sequence[bytes], seconds: float, sent: dict[str, int]
    ) -> Sample:
        """Measure one round, continuing with the request after the last round's."""
        try:
            sample = load.run(
                self._servers[name].address,
                requests,
                connections=item.connections,
                seconds=seconds,
                first=sent[name],
                statuses=(304,) if name == REVALIDATED else load.SUCCESS,
            )
        except UnexpectedResponse as error:
            raise UnexpectedResponse(f"{name}: {error}") from error
        sent[name] += sample.sent
        return sample


def _difference(one: Any, other: Any, path: str = "the response") -> str:
    """Return the path and values of the first difference."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        different = next(key for key in one if one[key] != other[key])
        return _difference(one[different], other[different], f"{path}.{different}")
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        index = next(index for index in range(len(one)) if one[index] != other[index])
        return _difference(one[index], other[index], f"{path}[{index}]")
    if isinstance(one, dict) and isinstance(other, dict):
        return f"{path}: only one has {', '.join(sorted(one.keys() ^ other.keys()))}"
    return f"{path}: {str(one)[:300]} and {str(other)[:300]}"
