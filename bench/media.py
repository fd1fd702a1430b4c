"""Measure media files: `python -m bench.media [--quick]`; print each bar, exit with 1 unless all are met.

A kept size is compared with aiohttp's static files in alternating rounds, a page of 50 products with images while the storage answers
at once with the same page while it takes a second: both ratios are of one run. Uploads and first renders are shown with the CPU time of the
server and its child.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import itertools
import json
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyvips

from bench import bars, launchers, load, machine
from bench.bars import Bar
from bench.database import BenchDatabase, Size, cpu_seconds, create_database, running_postgres
from bench.load import send_request
from bench.measurement import Schedule, sign_in
from bench.requests import RequestData, http
from bench.servers import Server, free_port, run_server
from tests.harness.s3_server import BUCKET, ENVIRONMENT, REGION

FULL, QUICK = Schedule(5, 3.0), Schedule(3, 1.0)
STATIC_RATIO = 0.9
MAX_RENDER_CPU_MS = 150.0
MAX_CHILD_MB = 512.0
MAX_SLOW_RATIO = 1.2
_CONNECTIONS = 8
_UPLOADERS = 4
_PAGE_PRODUCTS = 50
_SLOW_SECONDS = 1.0
_LOADS_PER_SECOND = 20
_BEGIN = "mutation ($input: MediaUploadInput!) { media_upload_create(input: $input) { media_id url } }"
_COMPLETE = "mutation ($id: ID!) { media_upload_complete(media_id: $id) { status } }"
_SHOW = "mutation ($id: ID!, $input: ProductInput!) { product_update(id: $id, input: $input) { id } }"
_PAGE = "{ products(limit: 50, sort: CREATED_AT_ASC) { id name price_cents main_image { url(size: W512) srcset width height blurhash } } }"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.media", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="short rounds")
    schedule = QUICK if parser.parse_args().quick else FULL
    machine.pin_to_load_core()
    print(json.dumps(machine.description()))
    with running_postgres() as (postgres, log), tempfile.TemporaryDirectory(prefix="vitrine-media-") as folder:
        database = asyncio.run(create_database(postgres, log, "media", Size(products=1_000, users=100, orders=100)))
        storage = Path(folder) / "storage"
        with launchers.vitrine(database, settings={"VITRINE_STORAGE_URL": storage.as_uri()}) as server:
            shop = _Shop(server, database.size)
            results = [*_measure_uploads(shop, schedule), *_measure_renders(shop, schedule)]
            results.append(_measure_kept_size(shop, storage, Path(folder) / "static", schedule))
        results.append(_measure_pages(database, schedule))
    print(bars.table(results))
    return 0 if all(bar.is_met for bar in results) else 1


class _Shop:
    """The store, as its owner uses it."""

    def __init__(self, server: Server, size: Size) -> None:
        self.server = server
        self.data = RequestData(size)
        self.data.token = sign_in(server, self.data)

    def graphql(self, document: str, **variables: Any) -> Any:
        """Return what the root field of a document returns."""
        request = http("POST", "/graphql", self.data.bearer, {"query": document, "variables": variables})
        answer = json.loads(send_request(self.server.address, request).body)
        if "errors" in answer:
            raise SystemExit(f"bench: {document[:60]}: {answer['errors'][0]}")
        return next(iter(answer["data"].values()))

    def upload(self, content: bytes) -> str:
        """Upload a JPEG and return its id."""
        announced = {"file_name": "a.jpg", "mime_type": "image/jpeg", "bytes": len(content)}
        begun = self.graphql(_BEGIN, input=announced)
        address = urlsplit(begun["url"])
        head = f"PUT {address.path}?{address.query} HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Type: image/jpeg\r\n"
        request = f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content
        assert address.hostname is not None
        assert address.port is not None
        stored = send_request((address.hostname, address.port), request)
        if stored.status not in load.SUCCESS:
            raise SystemExit(f"bench: the upload was answered {stored.status}: {stored.body[:200]!r}")
        self.graphql(_COMPLETE, id=begun["media_id"])
        return str(begun["media_id"])

    def image(self, content: bytes, name: str) -> bytes:
        """Return the request for an image in a size."""
        path = f"/media/{hashlib.sha256(content).hexdigest()}/{name}"
        return http("GET", path, {"X-Tenant-ID": self.data.store_id})

    def children(self) -> list[int]:
        """Return the processes that decode images."""
        pid = self.server.process.pid
        listed = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
        return [int(each) for each in listed if b"server.media.child" in _read(f"/proc/{each}/cmdline")]


def _photo(number: int, width: int, height: int) -> bytes:
    """Return a picture with soft and fine structures, another one for each number."""
    coarse = pyvips.Image.gaussnoise(width // 40, height // 40, mean=128, sigma=60, seed=number).resize(40)
    fine = pyvips.Image.gaussnoise(width, height, mean=0, sigma=8, seed=number)
    image = (coarse.gravity("centre", width, height, extend="copy") + fine).cast("uchar")
    colours = image.bandjoin([image.invert(), image.linear(0.5, 64).cast("uchar")]).copy(interpretation="srgb")
    content: bytes = colours.write_to_buffer(".jpg", Q=85)
    return content


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


# --- Uploads and first renders ---------------------------------------------------------------------------------------------


def _measure_uploads(shop: _Shop, schedule: Schedule) -> list[Bar]:
    photos = [_photo(number, 1_200, 900) for number in range(_UPLOADERS * 4 * schedule.rounds)]
    shop.upload(_photo(10_000, 1_200, 900))  # a child starts
    before, began = _cpu(shop), time.perf_counter()
    with ThreadPoolExecutor(_UPLOADERS) as threads:
        list(threads.map(shop.upload, photos))
    seconds, cpu = time.perf_counter() - began, _cpu(shop) - before
    size = statistics.mean(map(len, photos)) / 1024
    text = f"{len(photos) / seconds:.0f} a second, {cpu / len(photos) * 1000:.0f} ms of CPU each"
    return [Bar(f"uploads of {size:.0f} kB (1.1 megapixels), {_UPLOADERS} at once", text, "none", True)]


def _measure_renders(shop: _Shop, schedule: Schedule) -> list[Bar]:
    photos = [_photo(number, 4_000, 3_000) for number in range(2 * schedule.rounds)]
    for photo in photos:
        shop.upload(photo)
    times, cpu = [], []
    for photo in photos:
        before, began = sum(map(cpu_seconds, shop.children())), time.perf_counter()
        answer = send_request(shop.server.address, shop.image(photo, "512.webp"))
        times.append(time.perf_counter() - began)
        cpu.append(sum(map(cpu_seconds, shop.children())) - before)
        if answer.status != 200:
            raise SystemExit(f"bench: a size was answered {answer.status}: {answer.body[:200]!r}")
    peak = max(_peak_mb(child) for child in shop.children())
    milliseconds = statistics.mean(cpu) * 1000  # the clock of CPU time has steps of 10 ms
    return [
        Bar(
            "first render of 12 megapixels at 512 px",
            f"{milliseconds:.0f} ms of CPU, {statistics.median(times) * 1000:.0f} ms",
            f"at most {MAX_RENDER_CPU_MS:.0f} ms of CPU",
            milliseconds <= MAX_RENDER_CPU_MS,
        ),
        Bar(
            "memory of the child at its peak", f"{peak:.0f} MB", f"at most {MAX_CHILD_MB:.0f} MB", peak <= MAX_CHILD_MB
        ),
    ]


def _cpu(shop: _Shop) -> float:
    return shop.server.cpu_seconds + sum(map(cpu_seconds, shop.children()))


def _peak_mb(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:"))) / 1024


# --- Kept sizes ------------------------------------------------------------------------------------------------------------


def _measure_kept_size(shop: _Shop, storage: Path, folder: Path, schedule: Schedule) -> Bar:
    photo = _photo(20_000, 1_200, 900)
    shop.upload(photo)
    request = shop.image(photo, "512.webp")
    send_request(shop.server.address, request)
    [kept] = storage.rglob(f"{hashlib.sha256(photo).hexdigest()}.512.webp")
    folder.mkdir()
    (folder / "a.webp").write_bytes(kept.read_bytes())
    port = free_port()
    environment = {"BENCH_PORT": str(port), "BENCH_FOLDER": str(folder)}
    command = [sys.executable, "-m", "bench.contestants.static_files"]
    with run_server("static", command, environment, port=port, path="/") as static:
        servers = {"vitrine": (shop.server, request), "static": (static, http("GET", "/files/a.webp", {}))}
        rates: dict[str, list[float]] = {name: [] for name in servers}
        cpu: dict[str, list[float]] = {name: [] for name in servers}
        for number in range(schedule.rounds + 1):
            for name, (server, sent) in servers.items():
                before = server.cpu_seconds
                sample = load.run(server.address, [sent], connections=_CONNECTIONS, seconds=schedule.seconds)
                if number:  # the first round warms up
                    rates[name].append(sample.rate)
                    cpu[name].append((server.cpu_seconds - before) / sample.sent * 1e6)
    ratio = statistics.median(one / other for one, other in zip(*rates.values(), strict=True))
    shown = ", ".join(
        f"{name} {statistics.median(rates[name]):,.0f}/s {statistics.median(cpu[name]):.0f} µs" for name in servers
    )
    return Bar(
        f"kept size of {kept.stat().st_size / 1024:.0f} kB, of aiohttp's static file",
        f"{ratio:.2f} ({shown})",
        f"at least {STATIC_RATIO:g}",
        ratio >= STATIC_RATIO,
    )


# --- A page while the storage is slow --------------------------------------------------------------------------------------


def _measure_pages(database: BenchDatabase, schedule: Schedule) -> Bar:
    port = free_port()
    settings = {
        **ENVIRONMENT,
        "VITRINE_STORAGE_URL": f"s3://{BUCKET}?endpoint=http://127.0.0.1:{port}&region={REGION}",
        "VITRINE_CATALOGUE_CACHE_BYTES": "0",
    }
    command = [sys.executable, "-m", "bench.slow_storage", str(port)]
    with (
        run_server("storage", command, {}, port=port, path="/") as storage,
        launchers.vitrine(database, settings=settings) as server,
    ):
        shop = _Shop(server, database.size)
        photos = [_photo(30_000 + number, 600, 450) for number in range(_PAGE_PRODUCTS)]
        for number, photo in enumerate(photos, 1):
            image = {"media_id": shop.upload(photo), "alt": ""}
            shop.graphql(_SHOW, id=shop.data.product(number), input={"images": [image]})
        page = http("POST", "/graphql", shop.data.bearer, {"query": _PAGE})
        # Each once: what is not there is remembered for a minute.
        names = [f"{size}.avif" for size in (64, 128, 256, 512, 1_024)]
        images = itertools.cycle([shop.image(photo, name) for name in names for photo in photos])
        medians: Mapping[float, list[float]] = {0.0: [], _SLOW_SECONDS: []}
        for _ in range(schedule.rounds):
            for delay, times in medians.items():
                send_request(storage.address, http("PUT", f"/delay/{delay}", {}))
                with _loading_images(shop, images):
                    times.append(load.run(server.address, [page], connections=1, seconds=schedule.seconds).p50)
        send_request(storage.address, http("PUT", "/delay/0", {}))
    quick, slow = map(statistics.median, medians.values())
    ratio = statistics.median(late / early for early, late in zip(*medians.values(), strict=True))
    return Bar(
        "page of 50 products with images, storage of 1 s : at once",
        f"{ratio:.2f} ({slow:.1f} : {quick:.1f} ms)",
        f"at most {MAX_SLOW_RATIO:g}",
        ratio <= MAX_SLOW_RATIO,
    )


@contextmanager
def _loading_images(shop: _Shop, requests: Iterator[bytes]) -> Iterator[None]:
    """Ask meanwhile for images that the server has to look for in the storage, as many in a second whatever that takes."""
    stopped = threading.Event()

    def run() -> None:
        with ThreadPoolExecutor(4 * _LOADS_PER_SECOND) as threads:
            while not stopped.wait(1 / _LOADS_PER_SECOND):
                threads.submit(send_request, shop.server.address, next(requests))

    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(_SLOW_SECONDS / 2)
    try:
        yield
    finally:
        stopped.set()
        thread.join()


if __name__ == "__main__":
    sys.exit(main())
