"""`vitrine serve` and `vitrine worker`: what runs until it is told to stop."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from kernel.settings import Settings
from server.commands.opened import opened, read_settings
from server.commands.output import say

if TYPE_CHECKING:
    from domain.jobs import Job
    from server.database import DatabaseLocation
    from server.delivery import Deliverer
    from server.demo.making import Demo
    from server.worker import Worker


def add(commands: Any) -> None:
    """Declare the commands."""
    serve = commands.add_parser(
        "serve",
        help="serve the shops",
        description="Serve until Ctrl-C or SIGTERM. Without DATABASE_URL this starts a PostgreSQL of its own in .vitrine/, migrates"
        " it, makes the demo stores when there is no store, and does the background work too.",
    )
    serve.set_defaults(run=_serve)
    worker = commands.add_parser(
        "worker",
        help="do the background work",
        description="Do the periodic jobs until Ctrl-C or SIGTERM. Any number of workers share them.",
    )
    worker.set_defaults(run=_worker)


# --- serve -----------------------------------------------------------------------------------------------------------------


def _serve(_: argparse.Namespace) -> None:
    from kernel import logging
    from server import main

    settings = read_settings()
    logging.configure(development=not settings.is_production)
    around = _Around()
    # In production nobody sits there; the log says where it serves.
    welcome = None if settings.is_production else around.welcome
    main.run(settings, beside=around.beside, on_ready=welcome)


class _Around:
    """Do around a server what makes it useful without further set-up, and tell the person who started it."""

    def __init__(self) -> None:
        self._is_embedded = False
        self._shows_mails = False
        self._demo: Demo | None = None
        self._demo_exists = False
        self._processes = 1

    @asynccontextmanager
    async def beside(self, settings: Settings, place: DatabaseLocation) -> AsyncIterator[None]:
        """Make the demo stores where there are none, and work in the background meanwhile; with DATABASE_URL do neither."""
        self._is_embedded = place.is_embedded
        self._processes = settings.processes
        self._shows_mails = settings.is_private_development and settings.smtp_url is None
        if not place.is_embedded:
            yield
            return
        if not settings.is_production:
            await self._look_for_stores(settings, place)
        from resolvers.event_queries import selected
        from server.delivery import Deliverer
        from server.worker import Worker

        async with _working(Worker(_jobs(settings)), Deliverer(selected)):
            yield

    async def _look_for_stores(self, settings: Settings, place: DatabaseLocation) -> None:
        from server import operating
        from server.demo import making, stores

        if await making.is_due():
            say("There is no store yet: making the demo stores ...")
            self._demo = await making.make(settings, place)
            return
        found = await operating.list_stores()
        self._demo_exists = any(each.store.public_id == stores.DEMO.public_id for each in found)

    def welcome(self, addresses: list[str]) -> None:
        """Say where to click."""
        port = urlsplit(addresses[0]).port
        say()
        how = f" in {self._processes} processes" if self._processes > 1 else ""
        say(f"Vitrine serves at {', '.join(addresses)}{how}")
        say(f"  GraphQL playground   http://localhost:{port}/graphql/playground")
        say(f"  GraphQL schema       http://localhost:{port}/graphql/schema")
        if self._shows_mails:
            say(
                f"  Mails                http://localhost:{port}/dev/mails   (SMTP_URL is not set: none is sent)"
            )
        if self._demo is not None:
            self._show_demo(self._demo, port)
        elif self._demo_exists:
            say(f"  Demo store           http://demo.localhost:{port}")
            say("  vitrine demo prints new credentials for it.")
        if not self._is_embedded:
            say("Background work is left to vitrine worker.")
        say("Ctrl-C stops it.")

    def _show_demo(self, demo: Demo, port: int | None) -> None:
        admin, customer = demo.json["admin"], demo.json["customer"]
        say(
            f"  Demo store           http://{demo.json['host']}:{port}   X-Tenant-ID: {demo.json['tenant_id']}"
        )
        say(f"  Its administrator    {admin['email']}   {admin['password']}")
        say(f"  A customer           {customer['email']}   {customer['password']}")
        say("  vitrine demo prints all credentials, new ones each time.")


@asynccontextmanager
async def _working(*workers: Worker | Deliverer) -> AsyncIterator[list[asyncio.Task[None]]]:
    """Run the workers meanwhile, and let them finish or give back what they do."""
    tasks = [asyncio.create_task(worker.run()) for worker in workers]
    try:
        yield tasks
    finally:
        for worker in workers:
            worker.stop()
        await asyncio.gather(*tasks)


def _jobs(settings: Settings) -> list[Job]:
    """List the jobs of a worker: mails are sent where there is a mail server."""
    from domain.jobs import JOBS, mail_job
    from server.smtp import MailServer

    if settings.smtp_url is None:
        return list(JOBS)
    return [*JOBS, mail_job(MailServer.at(settings.smtp_url).send)]


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
    from resolvers.event_queries import selected
    from server.delivery import Deliverer
    from server.outgoing import calling
    from server.worker import Worker

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with (
        opened(settings, quiet=False),
        calling(allows_private=settings.allows_private_endpoints),
    ):
        logging.event("working", env=settings.env)
        async with _working(Worker(_jobs(settings)), Deliverer(selected)) as tasks:
            # They end by themselves only when something is wrong with them.
            told = asyncio.create_task(stop.wait())
            await asyncio.wait([told, *tasks], return_when=asyncio.FIRST_COMPLETED)
            told.cancel()
            logging.event("stopping")
