"""Work in the background until told to stop: each periodic job, whenever it is due and no other worker has it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta

from domain import jobs
from domain.jobs import Job, JobLease
from kernel import logging

# Another worker may die with a job or a new one be added: nobody sleeps longer than this.
LONGEST_PAUSE = 5.0
PAUSE_AFTER_FAILURE = 2.0
# When told to stop, the store that is being worked on gets this long to be finished.
STOP_SECONDS = 5.0


class Worker:
    """Do the jobs in this process; `run` returns after `stop`, with nothing left half done."""

    def __init__(
        self,
        wanted: Sequence[Job] = jobs.JOBS,
        *,
        lease: timedelta = jobs.LEASE,
        renew_every: timedelta = jobs.RENEW_EVERY,
        stop_seconds: float = STOP_SECONDS,
    ) -> None:
        self._jobs = wanted
        self._lease = lease
        self._renew_seconds = renew_every.total_seconds()
        self._stop_seconds = stop_seconds
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Begin no more work; what is under way is finished or given back."""
        self._stopping.set()

    async def run(self) -> None:
        """Do every job when it is due, until `stop`; a failure of the database is survived."""
        # Each by itself, so that a long one doesn't keep the others waiting.
        await asyncio.gather(*(self._keep_doing(job) for job in self._jobs))

    async def _keep_doing(self, job: Job) -> None:
        while not self._stopping.is_set():
            try:
                pause = await self._do_once(job)
            except Exception as error:
                logging.failure("the worker could not do its job", error, job=job.name)
                pause = PAUSE_AFTER_FAILURE
            await self._sleep(pause)

    async def _do_once(self, job: Job) -> float:
        """Do the job if it can be had; give the seconds until it is worth asking again."""
        claimed = await jobs.claim(job, lease=self._lease)
        if claimed is not None:
            await self._do(claimed)
        return min(await jobs.seconds_until_due(job), LONGEST_PAUSE)

    async def _do(self, claimed: JobLease) -> None:
        """Do the job, keep the claim meanwhile, and say how it went."""
        work = asyncio.ensure_future(claimed.job.work(lambda: not self._stopping.is_set()))
        keeping = asyncio.ensure_future(self._keep(claimed, work))
        try:
            outcome = await work
        except asyncio.CancelledError:
            if asyncio.current_task() is not None and asyncio.current_task().cancelling():  # type: ignore[union-attr]
                raise
            await jobs.give_back(claimed)  # cut short: lost to another worker, or because we stop
        except Exception as error:
            logging.failure("job failed", error, job=claimed.job.name)
            await jobs.finish(claimed, type(error).__name__)
        else:
            if outcome.complete:
                await jobs.finish(claimed, outcome.error)
            else:
                await jobs.give_back(claimed)
        finally:
            keeping.cancel()

    async def _keep(self, claimed: JobLease, work: asyncio.Future[jobs.JobResult]) -> None:
        """Renew the claim while the work goes on; cut the work off when the claim is lost, or when stopping takes too long."""
        while not self._stopping.is_set():
            await self._sleep(self._renew_seconds)
            try:
                if not await jobs.renew(claimed, lease=self._lease):
                    logging.event("a job was lost to another worker", level="warning", job=claimed.job.name)
                    work.cancel()
                    return
            except Exception as error:  # the next try may go better; if none does, the claim runs out
                logging.failure("a job's claim was not renewed", error, job=claimed.job.name)
        await asyncio.sleep(self._stop_seconds)
        work.cancel()

    async def _sleep(self, seconds: float) -> None:
        """Sleep, but not past `stop`."""
        try:
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        except TimeoutError:
            pass
