"""Measure how long `/api/docs` takes to open an operation in Chromium: `python -m bench.api_docs [--operations 12] [--keep]`.

For each OpenAPI document: the first operation of tags spread evenly over it, each on the same page with its own tag open, from the click
until the frame that shows its responses was painted. The first one includes what a reader pays once per page, so it is reported apart.
Next to the time is what the page's main thread computed, which other load on the machine changes little.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from aiohttp import web
from aiohttp.test_utils import TestServer

from bench import machine
from server.http.playground import BUILT, add_asset_routes
from server.openapi import page as reader
from server.openapi.documents import FAMILIES
from tests.browser.chromium import Browser, Page, chromium

BAR_MS = 300.0
_LOAD_SECONDS = 60.0
_TAG = "document.querySelectorAll('.opblock-tag')[%d]"
_OPERATION = _TAG + ".closest('.opblock-tag-section').querySelector('.opblock')"
# Resolves once the operation's responses are in the page and a frame with them was painted.
_OPEN = """
(async (operation) => {
  operation.scrollIntoView();
  await new Promise(requestAnimationFrame);
  const begin = performance.now();
  operation.querySelector('.opblock-summary-control').click();
  while (!operation.querySelector('.responses-wrapper')) await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  await new Promise((resolve) => setTimeout(resolve));
  return performance.now() - begin;
})(%s)
"""


@dataclass(frozen=True)
class Opening:
    """The times of one document in milliseconds, and those that its page computed; the first operation of the page is the first of both."""

    title: str
    times: list[float]
    computed: list[float]

    def row(self) -> str:
        later = sorted(self.times[1:])
        within = later[min(len(later) - 1, int(len(later) * 0.95))]
        columns = (
            self.times[0],
            statistics.median(later),
            within,
            self.computed[0],
            statistics.median(self.computed[1:]),
        )
        return f"| {self.title} | {len(self.times)} | " + " | ".join(f"{value:.0f}" for value in columns) + " |"


async def computed_ms(page: Page) -> float:
    """Return the CPU time of the page's main thread so far."""
    metrics = (await page.call("Performance.getMetrics"))["metrics"]
    return next(float(metric["value"]) * 1_000 for metric in metrics if metric["name"] == "TaskDuration")


async def measure(browser: Browser, base: str, title: str, operations: int) -> Opening:
    """Open operations of one document."""
    page = await browser.open(f"{base}{reader.PATH}?urls.primaryName={quote(title)}")
    await page.call("Performance.enable", timeDomain="threadTicks")
    await page.wait_for("document.querySelector('.opblock-tag') !== null", _LOAD_SECONDS)
    tags = int(await page.evaluate("document.querySelectorAll('.opblock-tag').length"))
    count = min(operations, tags)
    opening = Opening(title, [], [])
    for index in range(count):
        tag = index * tags // count
        await page.evaluate(f"{_TAG % tag}.click()")
        await page.wait_for(f"{_OPERATION % tag} !== null", _LOAD_SECONDS)
        before = await computed_ms(page)
        opening.times.append(float(await page.evaluate(_OPEN % (_OPERATION % tag))))
        opening.computed.append(await computed_ms(page) - before)
        await page.evaluate(f"{_OPERATION % tag}.querySelector('.opblock-summary-control').click()")
        await page.evaluate(f"{_TAG % tag}.click()")
        await page.wait_for(f"{_OPERATION % tag} === null", _LOAD_SECONDS)
    await page.close()
    return opening


async def measure_all(operations: int) -> list[Opening]:
    app = web.Application()
    reader.add_routes(app)
    add_asset_routes(app, BUILT)
    async with TestServer(app, host="127.0.0.1") as server, chromium() as browser:
        base = str(server.make_url("")).rstrip("/")
        return [await measure(browser, base, family.title, operations) for family in FAMILIES]


def main() -> None:
    """Measure, print, and save the result with `--keep`."""
    parser = argparse.ArgumentParser(prog="bench.api_docs", description=__doc__)
    parser.add_argument("--operations", type=int, default=12, help="operations of each document (12)")
    parser.add_argument("--keep", action="store_true", help="save the result in bench/results")
    arguments = parser.parse_args()
    about = machine.description()
    openings = asyncio.run(measure_all(arguments.operations))
    slowest = max(time for opening in openings for time in opening.times)
    lines = [
        "# Opening an operation in /api/docs",
        "",
        *(f"* {name}: {value}" for name, value in about.items()),
        f"* bar: {BAR_MS:.0f} ms, slowest {slowest:.0f} ms: {'met' if slowest < BAR_MS else 'missed'}",
        "",
        "| Document | Operations | First, ms | Median, ms | 95 %, ms | First, CPU ms | Median, CPU ms |",
        "|---|--:|--:|--:|--:|--:|--:|",
        *(opening.row() for opening in openings),
    ]
    text = "\n".join(lines)
    print(text)
    if arguments.keep:
        name = f"{datetime.now(UTC):%Y-%m-%dT%H%M}-{about['commit']}-api-docs.md"
        (Path(__file__).parent / "results" / name).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
