"""Measure how long `/api/docs` takes to open an operation in Chromium: `python -m bench.api_docs [--operations 25] [--keep]`.

For each OpenAPI document: operations spread evenly over it are opened one after the other on one page, each from the click until the
frame that shows its responses was painted. The first one includes what a reader pays once per page, so it is reported apart.
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
from server.openapi import page as reader
from server.openapi.documents import FAMILIES
from server.playground import BUILT, add_asset_routes
from tests.browser.chromium import Browser, chromium

BAR_MS = 300.0
_LOAD_SECONDS = 60.0
_OPEN_TAGS = "document.querySelectorAll('.opblock-tag[data-is-open=false]').forEach(tag => tag.click())"
# Resolves once the operation's responses are in the page and a frame with them was painted.
_OPEN = """
(async () => {
  const operation = document.querySelectorAll('.opblock')[%d];
  operation.scrollIntoView();
  await new Promise(requestAnimationFrame);
  const begin = performance.now();
  operation.querySelector('.opblock-summary-control').click();
  while (!operation.querySelector('.responses-wrapper')) await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  await new Promise((resolve) => setTimeout(resolve));
  const milliseconds = performance.now() - begin;
  operation.querySelector('.opblock-summary-control').click();
  return milliseconds;
})()
"""


@dataclass(frozen=True)
class Opening:
    """The times of one document in milliseconds, the first operation of the page apart."""

    title: str
    operations: int
    first: float
    later: list[float]

    def row(self) -> str:
        later = sorted(self.later)
        within = later[min(len(later) - 1, int(len(later) * 0.95))]
        return f"| {self.title} | {self.operations} | {self.first:.0f} | {statistics.median(later):.0f} | {within:.0f} | {later[-1]:.0f} |"


async def measure(browser: Browser, base: str, title: str, operations: int) -> Opening:
    """Open operations of one document."""
    page = await browser.open(f"{base}{reader.PATH}?urls.primaryName={quote(title)}")
    await page.wait_for("document.querySelector('.opblock-tag') !== null", _LOAD_SECONDS)
    await page.evaluate(_OPEN_TAGS)
    await page.wait_for("document.querySelectorAll('.opblock-tag[data-is-open=false]').length === 0", _LOAD_SECONDS)
    total = int(await page.evaluate("document.querySelectorAll('.opblock').length"))
    count = min(operations, total)
    times = [float(await page.evaluate(_OPEN % (index * total // count))) for index in range(count)]
    await page.close()
    return Opening(title, total, times[0], times[1:])


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
    parser.add_argument("--operations", type=int, default=25, help="operations of each document (25)")
    parser.add_argument("--keep", action="store_true", help="save the result in bench/results")
    arguments = parser.parse_args()
    about = machine.description()
    openings = asyncio.run(measure_all(arguments.operations))
    slowest = max(time for opening in openings for time in (opening.first, *opening.later))
    lines = [
        "# Opening an operation in /api/docs",
        "",
        *(f"* {name}: {value}" for name, value in about.items()),
        f"* bar: {BAR_MS:.0f} ms, slowest {slowest:.0f} ms: {'met' if slowest < BAR_MS else 'missed'}",
        "",
        "| Document | Operations | First, ms | Median, ms | 95 %, ms | Slowest, ms |",
        "|---|--:|--:|--:|--:|--:|",
        *(opening.row() for opening in openings),
    ]
    text = "\n".join(lines)
    print(text)
    if arguments.keep:
        name = f"{datetime.now(UTC):%Y-%m-%dT%H%M}-{about['commit']}-api-docs.md"
        (Path(__file__).parent / "results" / name).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
