"""Soak test: `make soak`, `make soak SOAK_ARGS='--minutes 5'`, `make cluster-test`; exits with 1 on any wrong answer or growing memory."""

from __future__ import annotations

import argparse
import asyncio
import random
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from time import monotonic

import aiohttp
import uvloop

from bench.servers import ROOT
from kernel.garbage_collection import collect_rarely_at_start
from tests.harness.s3_server import ENVIRONMENT, running_s3, s3_url
from tests.system.installed_postgres import prefer_installed_postgres
from tests.system.soak import report
from tests.system.soak.audit import audit
from tests.system.soak.calls import Client, Tally, Timeline, open_session
from tests.system.soak.cluster import Cluster, cluster_faults, missing_programs
from tests.system.soak.deployment import CLUSTER, EMBEDDED, EXTERNAL, Deployment, Disk, running_deployment
from tests.system.soak.faults import Director, faults_of, kill_master
from tests.system.soak.hostile import check_shoppers
from tests.system.soak.model import Findings, World
from tests.system.soak.observation import Observation
from tests.system.soak.pictures import audit_pictures, check_machines, show_picture, upload_picture
from tests.system.soak.propagation import measure_propagation
from tests.system.soak.receiver import Receiver
from tests.system.soak.stores import Store, create_store
from tests.system.soak.traffic import Traffic

LOGS = ROOT / ".vitrine" / "build" / "soak"
RESULTS = ROOT / "bench" / "results"
STORES = 3
NOT_STARTED = 2
FOLDER, S3 = STORAGES = ("folder", "s3")
# The embedded deployment gets a fifth of the time.
_SHARES = {EXTERNAL: 0.8, EMBEDDED: 0.2}
_START_SECONDS = 300.0
_REPEATED = 5
# A killed master is followed by the start of a program, which would take up most of a shorter run.
_MASTER_SECONDS = 180.0
UNEXPECTED = {"unexpected error", "an unexpected error occurred", "webhook delivery failed unexpectedly"}


def main() -> int:
    """Run the deployments in turn and print what was wrong."""
    arguments = _arguments()
    with report.copied_output() as output:
        code = _run_deployments(arguments)
    if arguments.keep and code != NOT_STARTED:
        kind = CLUSTER if arguments.only == CLUSTER else "soak"
        print(f"kept in {report.keep(RESULTS, kind, arguments.minutes, output.getvalue())}")
    return code


def _run_deployments(arguments: argparse.Namespace) -> int:
    if arguments.only == CLUSTER:
        prefer_installed_postgres()
        if missing := missing_programs():
            print(f"soak: the cluster needs what is not installed: {', '.join(missing)}", file=sys.stderr)
            return NOT_STARTED
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("soak: stopped by SIGTERM"))
    random.seed(arguments.seed)
    # The pauses of a collection would count as time that shoppers waited.
    collect_rarely_at_start()
    shutil.rmtree(LOGS, ignore_errors=True)
    LOGS.mkdir(parents=True)
    findings = Findings()
    chosen = {kind: share for kind, share in _SHARES.items() if arguments.only in (None, kind)} or {CLUSTER: 1.0}
    for kind, share in chosen.items():
        seconds = arguments.minutes * 60 * share / sum(chosen.values())
        for storage in arguments.storage if kind == CLUSTER else STORAGES[:1]:
            uvloop.run(_soak(kind, storage, seconds / (len(arguments.storage) if kind == CLUSTER else 1), findings))
    if len(findings):
        kinds = ", ".join(f"{kind} ({count})" for kind, count in findings.counts.most_common())
        # Once more, where a log that was cut has them too.
        for line in findings.lines[:_REPEATED]:
            print(line)
        print(f"soak: {len(findings)} wrong answers: {kinds}; logs are in {LOGS}; seed {arguments.seed}")
        return 1
    print("soak: no wrong answer, no growing memory")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="duration of the traffic (30)")
    parser.add_argument("--only", choices=[*_SHARES, CLUSTER], help="one deployment; by default the first two")
    parser.add_argument(
        "--storage",
        choices=STORAGES,
        nargs="+",
        default=STORAGES,
        help="what a cluster keeps its files in, one after another (both)",
    )
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="repeat the choices of a run")
    parser.add_argument("--keep", action="store_true", help="keep the report in bench/results")
    return parser.parse_args()


async def _soak(kind: str, storage: str, seconds: float, findings: Findings) -> None:
    """Run one deployment under traffic and faults, audit it and print its report."""
    world, timeline, tally = World(findings), Timeline(), Tally()
    receiver = Receiver(world)
    await receiver.start()
    try:
        async with (
            _storage_settings(storage) as settings,
            running_deployment(kind, LOGS, partial(_create, settings)) as deployment,
            open_session() as session,
        ):
            base, stale = deployment.base_url, deployment.stale_seconds
            client = Client(session, base, world, timeline, tally, stale_seconds=stale)
            await _until_ready(session, deployment)
            made = [create_store(number, deployment.environment, client, receiver) for number in range(STORES)]
            stores = list(await asyncio.gather(*made))
            await _run(deployment, receiver, client, stores, seconds)
    finally:
        await receiver.stop()


def _create(settings: Mapping[str, str], kind: str, disk: Disk, logs: Path) -> Deployment:
    deployment = (Cluster if kind == CLUSTER else Deployment)(kind, disk, logs)
    deployment.environment.update(settings)
    return deployment


@asynccontextmanager
async def _storage_settings(storage: str) -> AsyncIterator[Mapping[str, str]]:
    """Run the storage of files and yield its settings; all machines have the same folder by default."""
    if storage != S3:
        yield {}
        return
    async with running_s3() as server:
        yield {**ENVIRONMENT, "VITRINE_STORAGE_URL": s3_url(server)}


async def _run(deployment: Deployment, receiver: Receiver, client: Client, stores: list[Store], seconds: float) -> None:
    storage = deployment.environment.get("VITRINE_STORAGE_URL", "a shared folder").partition("?")[0]
    print(f"{deployment.kind}: {len(stores)} stores, files in {storage}, {seconds:.0f} s ...", flush=True)
    findings, timeline, tally = client.world.findings, client.timeline, client.tally
    before = len(findings.lines)
    observation = Observation()
    sampling = asyncio.create_task(observation.run(deployment, timeline, findings))
    propagation: list[str] = []
    if isinstance(deployment, Cluster):
        await deployment.haproxy.wait_until_up()
        propagation = await measure_propagation(deployment, client, stores[-1])
        await check_machines(deployment.group_urls, client, stores[-1])
        faults, skipped = cluster_faults(deployment), list[str]()
    else:
        faults, skipped = faults_of(deployment, receiver)
    pictures = ([upload_picture, show_picture, show_picture],) if isinstance(deployment, Cluster) else ()
    traffic, director = (
        Traffic(client, stores, *pictures),
        Director(deployment, faults, receiver, stores[0], timeline, findings),
    )
    began = monotonic()
    traffic.start()
    if isinstance(deployment, Cluster):
        pass
    elif seconds >= _MASTER_SECONDS:
        await director.inject(kill_master(deployment))
    else:
        print(f"  skipped: kill -9 of the web master: less than {_MASTER_SECONDS:.0f} s", flush=True)
    observation.began = monotonic()
    await director.run(began + seconds)
    for line in skipped:
        print(f"  skipped: {line}", flush=True)
    await asyncio.sleep(max(0.0, began + seconds - monotonic()))
    observation.ended = monotonic()
    await traffic.stop()
    elapsed = monotonic() - began
    redelivered = await audit(client, stores)
    await audit_pictures(client, stores)
    await director.finish()
    if sampling.done():
        sampling.result()  # it only ends by an error
    sampling.cancel()
    if deployment.judges_memory:
        observation.check(findings)
    for service in deployment.services:
        # A client that hung up does not see its 500; the log does.
        for event in UNEXPECTED & service.logged_errors().keys():
            findings.add("server error", f"{service.name} logged: {event}")
        if service.unplanned_ends:
            findings.add("process", f"{service.name} ended {service.unplanned_ends} times without being killed")
    models, shoppers = [store.model for store in stores], check_shoppers(tally, findings)
    for line in report.lines_of(deployment, elapsed, tally, models, director.records, observation, findings):
        print(line, flush=True)
    print(shoppers, flush=True)
    for line in propagation:
        print(line, flush=True)
    if redelivered:
        print(f"  {redelivered} deliveries were sent again on request: their next attempt was minutes away", flush=True)
    for line in findings.lines[before:]:
        print(f"WRONG {line}", flush=True)


async def _until_ready(session: aiohttp.ClientSession, deployment: Deployment) -> None:
    deadline = monotonic() + _START_SECONDS
    while monotonic() < deadline:
        try:
            async with session.get(f"{deployment.base_url}/health/ready") as response:
                if response.status == 200:
                    return
        except (aiohttp.ClientError, OSError, TimeoutError):
            pass  # not listening yet
        await asyncio.sleep(0.2)
    lines = Path(deployment.webs[0].log).read_text(encoding="utf-8", errors="replace").strip().splitlines()
    raise SystemExit(f"soak: {deployment.kind} did not start: {lines[-1] if lines else 'without output'}")


if __name__ == "__main__":
    sys.exit(main())
