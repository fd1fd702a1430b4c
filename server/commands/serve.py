"""`vitrine serve` and `vitrine worker`: the long-running commands."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from kernel.settings import Settings
from server.commands.context import open_context, read_settings
from server.commands.output import print_line

if TYPE_CHECKING:
    from domain.jobs import Job
    from server.database import DatabaseLocation
    from server.demo.setup import DemoResult
    from server.workers.avif import AvifWorker
    from server.workers.bulk import BulkWorker
    from server.workers.jobs import JobWorker
    from server.workers.media import MediaWorker
    from server.workers.webhooks import WebhookWorker


def add(commands: Any) -> None:
    """Declare the commands."""
    serve = commands.add_parser(
        "serve",
        help="run the server",
        description="Serve until Ctrl-C or SIGTERM. Without DATABASE_URL this starts an embedded PostgreSQL in .vitrine/, migrates"
        " it, creates the demo stores when there is no store, and runs the background jobs too.",
    )
    serve.set_defaults(run=_serve)
    worker = commands.add_parser(
        "worker",
        help="run the background jobs",
        description="Run the periodic jobs until Ctrl-C or SIGTERM. Any number of workers share them.",
    )
    worker.set_defaults(run=_worker)


# --- serve -----------------------------------------------------------------------------------------------------------------


def _serve(_: argparse.Namespace) -> None:
    from kernel import logging
    from server import main

    settings = read_settings()
    logging.configure(development=not settings.is_production)
    session = _ServeSession()
    # In production the log reports the addresses instead.
    on_ready = None if settings.is_production else session.print_welcome
    main.run(settings, background=session.run_background, on_ready=on_ready)


class _ServeSession:
    """Run the background work of a server and print a welcome for the person who started it."""

    def __init__(self) -> None:
        self._is_embedded = False
        self._shows_mails = False
        self._has_sandbox = False
        self._demo: DemoResult | None = None
        self._demo_exists = False
        self._processes = 1

    @asynccontextmanager
    async def run_background(self, settings: Settings, location: DatabaseLocation) -> AsyncIterator[None]:
        """Create the demo stores when there are none and run the background jobs; with DATABASE_URL do neither."""
        from server.store_metrics import store_metrics_server

        self._is_embedded = location.is_embedded
        self._processes = settings.processes
        self._has_sandbox = settings.has_sandbox
        self._shows_mails = settings.is_private_development and settings.smtp_url is None
        await _check_storage(settings)
        if not location.is_embedded:
            yield
            return
        if not settings.is_production:
            await self._ensure_demo_stores(settings, location)
        async with store_metrics_server(settings), _running(*_workers(settings, location)):
            yield

    async def _ensure_demo_stores(self, settings: Settings, location: DatabaseLocation) -> None:
        from server.demo import setup, stores
        from server.operations import store_admin

        if await setup.is_setup_due():
            print_line("There is no store yet: creating the demo stores ...")
            self._demo = await setup.set_up_demo(settings, location)
            return
        existing = await store_admin.list_stores()
        self._demo_exists = any(entry.store.public_id == stores.DEMO.public_id for entry in existing)

    def print_welcome(self, addresses: list[str]) -> None:
        """Print the URLs."""
        port = urlsplit(addresses[0]).port
        print_line()
        process_count = f" in {self._processes} processes" if self._processes > 1 else ""
        print_line(f"Vitrine is running at {', '.join(addresses)}{process_count}")
        print_line(f"  GraphQL playground   http://localhost:{port}/graphql/playground")
        print_line(f"  GraphQL schema       http://localhost:{port}/graphql/schema.graphql")
        if self._shows_mails:
            print_line(
                f"  Mails                http://localhost:{port}/dev/mails   (SMTP_URL is not set: emails are not sent)"
            )
        if self._has_sandbox:
            print_line(f"  Payments             http://localhost:{port}/dev/payments   (the sandbox: no money moves)")
        if self._demo is not None:
            self._print_demo(self._demo, port)
        elif self._demo_exists:
            print_line(f"  Demo store           http://demo.localhost:{port}")
            print_line("  Run vitrine demo to print new credentials for it.")
        if not self._is_embedded:
            print_line("Run vitrine worker for the background jobs.")
        print_line("Press Ctrl-C to stop.")

    def _print_demo(self, demo: DemoResult, port: int | None) -> None:
        admin, customer = demo.json["admin"], demo.json["customer"]
        print_line(f"  Demo store           http://{demo.json['host']}:{port}   X-Tenant-ID: {demo.json['tenant_id']}")
        print_line(f"  Its back office      http://{demo.json['host']}:{port}/admin")
        print_line(f"  Its administrator    {admin['email']}   {admin['password']}")
        print_line(f"  A customer           {customer['email']}   {customer['password']}")
        print_line("  Run vitrine demo to print new credentials for all users.")


@asynccontextmanager
async def _running(
    *workers: JobWorker | WebhookWorker | BulkWorker | MediaWorker | AvifWorker,
) -> AsyncIterator[list[asyncio.Task[None]]]:
    """Run the workers meanwhile; at the end let them finish or release their work."""
    tasks = [asyncio.create_task(worker.run()) for worker in workers]
    try:
        yield tasks
    finally:
        for worker in workers:
            worker.stop()
        await asyncio.gather(*tasks)


def _workers(
    settings: Settings, location: DatabaseLocation
) -> tuple[JobWorker, WebhookWorker, BulkWorker, MediaWorker, AvifWorker]:
    from domain.bulk.operations import MUTATION, QUERY
    from resolvers import bulk_mutations, bulk_queries
    from resolvers.webhook_queries import run_query
    from server.workers.avif import AvifWorker
    from server.workers.bulk import BulkWorker
    from server.workers.jobs import JobWorker
    from server.workers.media import MediaWorker
    from server.workers.webhooks import WebhookWorker

    bulk = BulkWorker({QUERY: bulk_queries.run, MUTATION: bulk_mutations.run})
    return JobWorker(_jobs(settings, location)), WebhookWorker(run_query), bulk, MediaWorker(), AvifWorker()


async def _check_storage(settings: Settings) -> None:
    """Log why files of bulk operations can't be stored; everything else works without."""
    from kernel import logging
    from server.operations.check_results import Severity
    from server.operations.checks import check_storage

    result = await check_storage(settings)
    if result.level is Severity.FAIL:
        logging.event("files can't be stored", level="error", reason=result.text)


def _jobs(settings: Settings, location: DatabaseLocation) -> list[Job]:
    """Return the jobs of a worker, including email when SMTP_URL is set."""
    from domain.jobs import jobs_with_retention, mail_job
    from server.operations.moved_stores import deletion_job
    from server.workers.smtp import MailServer

    deletion = deletion_job(location.owner_url, settings.moved_stores_days)
    jobs = [*jobs_with_retention(settings.retention_days), deletion]
    if settings.smtp_url is None:
        return jobs
    return [*jobs, mail_job(MailServer.from_url(settings.smtp_url).send)]


# --- worker ----------------------------------------------------------------------------------------------------------------


def _worker(_: argparse.Namespace) -> None:
    import uvloop

    from kernel import logging

    settings = read_settings()
    logging.configure(development=not settings.is_production)
    uvloop.run(_work(settings))


async def _work(settings: Settings) -> None:
    import signal

    from kernel import logging
    from kernel.event_loop import lost_terminal, measured_pauses
    from server.domain_settings import configure_domain
    from server.media.child_pool import image_renderer
    from server.metrics import WORKER_PORT_OFFSET, metrics_server
    from server.outgoing import outgoing_client
    from server.start_checks import check_secret_key
    from server.store_metrics import store_metrics_server
    from server.tracing import tracing_to_collector
    from server.usage import storing_usage
    from server.workers.backlog_metrics import worker_values

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, *lost_terminal()):
        loop.add_signal_handler(number, stop.set)
    async with (
        tracing_to_collector(settings, "worker"),
        open_context(settings, quiet=False) as context,
        outgoing_client(allows_private=settings.allows_private_endpoints),
        image_renderer(),
        storing_usage(),
        store_metrics_server(settings),
        metrics_server(settings, worker_values, port_offset=WORKER_PORT_OFFSET),
    ):
        await check_secret_key(context.settings, context.location)
        configure_domain(settings)
        await _check_storage(settings)
        logging.event("worker started", env=settings.env)
        async with _running(*_workers(settings, context.location)) as tasks:
            # A worker task ends by itself only on an unexpected error.
            stopped = asyncio.create_task(stop.wait())
            with measured_pauses():
                await asyncio.wait([stopped, *tasks], return_when=asyncio.FIRST_COMPLETED)
            stopped.cancel()
            logging.event("stopping")
