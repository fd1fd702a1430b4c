"""Run the background jobs until stopped: each periodic job when it is due and no other worker holds its lease."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from time import monotonic

from domain import jobs
from domain.jobs import Job, JobLease
from kernel import logging, metrics
from kernel.event_loop import wait_at_most
from server.workers.failures import logged_failures

# Upper bound of a pause, because another worker may crash with a job or a job may be added.
MAX_PAUSE = 5.0
PAUSE_AFTER_FAILURE = 2.0
# At shutdown the current store gets this long to finish.
STOP_SECONDS = 5.0

_RUNS = metrics.counter("vitrine_job_runs_total", "Runs of periodic jobs by result.", "job", "result")
_SECONDS = metrics.histogram(
    "vitrine_job_seconds", "Time of a run.", "job", bounds=(0.01, 0.1, 0.5, 1, 5, 30, 120, 600)
)


class JobWorker:
    """Run jobs in this process; `run` returns after `stop`, leaving nothing half done."""

    def __init__(
        self,
        selected_jobs: Sequence[Job] = jobs.JOBS,
        *,
        lease: timedelta = jobs.LEASE,
        renew_every: timedelta = jobs.RENEW_EVERY,
        stop_seconds: float = STOP_SECONDS,
    ) -> None:
        self._jobs = selected_jobs
        self._lease = lease
        self._renew_seconds = renew_every.total_seconds()
        self._stop_seconds = stop_seconds
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Start no more work; current work is finished or its lease released."""
        self._stopping.set()

    async def run(self) -> None:
        """Run every job when it is due, until `stop`; database errors are logged and retried."""
        # Concurrently, so that a long job doesn't delay the others.
        await asyncio.gather(*(self._run_repeatedly(job) for job in self._jobs))

    async def _run_repeatedly(self, job: Job) -> None:
        while not self._stopping.is_set():
            pause = PAUSE_AFTER_FAILURE
            with logged_failures("job could not be run", job=job.name):
                pause = await self._run_if_due(job)
            await wait_at_most(self._stopping, pause)

    async def _run_if_due(self, job: Job) -> float:
        """Run the job if its lease is free; return the seconds until the next attempt."""
        lease = await jobs.claim(job, lease=self._lease)
        if lease is not None:
            await self._run_claimed(lease)
        return min(await jobs.seconds_until_due(job), MAX_PAUSE)

    async def _run_claimed(self, lease: JobLease) -> None:
        """Run the job, renew its lease meanwhile, and store the outcome."""
        name, started, result = lease.job.name, monotonic(), "released"
        work = asyncio.ensure_future(lease.job.work(lambda: not self._stopping.is_set()))
        renewal = asyncio.ensure_future(self._renew_lease(lease, work))
        try:
            outcome = await work
        except asyncio.CancelledError:
            if asyncio.current_task() is not None and asyncio.current_task().cancelling():  # type: ignore[union-attr]
                raise
            await jobs.release(lease)  # cancelled: lease lost, or shutting down
        except Exception as error:
            logging.failure("job failed", error, job=lease.job.name)
            result = "failed"
            await jobs.end(lease, type(error).__name__)
        else:
            if outcome.complete:
                result = "failed" if outcome.error else "finished"
                await jobs.end(lease, outcome.error)
            else:
                await jobs.release(lease)
        finally:
            renewal.cancel()
            _RUNS.add(name, result)
            _SECONDS.observe(_SECONDS.child(name), monotonic() - started)

    async def _renew_lease(self, lease: JobLease, work: asyncio.Future[jobs.JobResult]) -> None:
        """Renew the lease while the job runs; cancel the job when the lease is lost or stopping takes too long."""
        while not self._stopping.is_set():
            await wait_at_most(self._stopping, self._renew_seconds)
            try:
                if not await jobs.renew(lease, lease=self._lease):
                    logging.event("job lease lost to another worker", level="warning", job=lease.job.name)
                    work.cancel()
                    return
            except Exception as error:  # retried; if all attempts fail, the lease expires
                logging.failure("job lease was not renewed", error, job=lease.job.name)
        await asyncio.sleep(self._stop_seconds)
        work.cancel()
