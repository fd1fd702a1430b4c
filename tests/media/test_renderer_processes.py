"""Child processes that end, hang or grow are replaced; nothing is left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from domain.media.renderer import RenderedFormat, RendererFailed
from kernel.errors import Unavailable
from server.media.child_pool import Renderer, RendererLimits
from tests.media.pictures import encoded, picture, slow_picture


@pytest.fixture
async def one_child() -> AsyncIterator[Renderer]:
    """Return a renderer with a single child and a short time."""
    renderer = Renderer(RendererLimits(children=1, clock_seconds=15))
    yield renderer
    await renderer.close()


def _children() -> list[int]:
    """Return the processes that render for this one, zombies as well."""
    children = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state = (folder / "stat").read_text().rpartition(")")[2].split()
            name = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if state[1] == str(os.getpid()) and (b"server.media.child" in name or state[0] == "Z"):
            children.append(int(folder.name))
    return children


async def _start_one(renderer: Renderer) -> int:
    others = set(_children())
    await renderer.inspect(encoded(".png"))
    (child,) = set(_children()) - others
    return child


async def test_children_start_when_they_are_needed_and_are_kept(one_child):
    others = set(_children())
    assert one_child.usage() == {"children": 0, "requests": 0}

    child = await _start_one(one_child)
    await one_child.render(encoded(".png"), 64, RenderedFormat.WEBP)

    assert set(_children()) - others == {child}
    assert one_child.usage() == {"children": 1, "requests": 0}


async def test_a_child_that_was_killed_while_idle_is_replaced(one_child):
    child = await _start_one(one_child)
    os.kill(child, signal.SIGKILL)
    while child in _children():
        await asyncio.sleep(0.01)

    assert (await one_child.inspect(encoded(".gif"))).mime_type == "image/gif"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_what_stops_a_group_of_processes_ends_no_image(one_child, number):
    child = await _start_one(one_child)
    os.kill(child, number)
    assert (await one_child.inspect(encoded(".gif"))).width == 120
    assert child in _children()


async def test_an_image_whose_child_is_killed_has_failed_and_the_next_one_is_rendered(one_child):
    child = await _start_one(one_child)
    running = asyncio.create_task(one_child.render(slow_picture(), 2048, RenderedFormat.AVIF))
    await asyncio.sleep(0.2)
    os.kill(child, signal.SIGKILL)

    with pytest.raises(RendererFailed, match="was killed"):
        await running

    assert (await one_child.inspect(encoded(".png"))).width == 120
    assert child not in _children()


@pytest.mark.slow(seconds=4)
async def test_a_child_that_hangs_is_replaced():
    renderer = Renderer(RendererLimits(children=1, clock_seconds=4))
    try:
        child = await _start_one(renderer)
        os.kill(child, signal.SIGSTOP)

        with pytest.raises(RendererFailed, match="took longer than 4 s"):
            await renderer.inspect(encoded(".gif"))

        assert (await renderer.inspect(encoded(".gif"))).width == 120
        assert child not in _children()
    finally:
        await renderer.close()


async def test_a_child_that_has_grown_is_replaced_after_its_answer():
    renderer = Renderer(RendererLimits(children=1, kept_memory=1))
    try:
        others = set(_children())

        assert (await renderer.inspect(encoded(".png"))).width == 120

        assert set(_children()) == others
        assert (await renderer.inspect(encoded(".png"))).width == 120
    finally:
        await renderer.close()


async def test_identical_simultaneous_requests_are_rendered_once():
    renderer = Renderer(RendererLimits(children=1, waiting=1))
    try:
        # A second different request would be refused.
        results = await asyncio.gather(*(renderer.render(slow_picture(), 512, RenderedFormat.JPEG) for _ in range(20)))
    finally:
        await renderer.close()

    assert len(set(results)) == 1


async def test_twenty_different_simultaneous_requests_are_all_rendered(renderer):
    contents = [encoded(".png", picture(100 + number, 50)) for number in range(20)]

    results = await asyncio.gather(*(renderer.inspect(content) for content in contents))

    assert [info.width for info in results] == [100 + number for number in range(20)]
    assert renderer.usage() == {"children": 2, "requests": 0}


async def test_requests_beyond_the_queue_are_unavailable():
    renderer = Renderer(RendererLimits(children=1, waiting=3))
    try:
        results = await asyncio.gather(
            *(renderer.inspect(encoded(".png", picture(100 + number))) for number in range(8)), return_exceptions=True
        )
    finally:
        await renderer.close()

    refused = [result for result in results if isinstance(result, Unavailable)]
    assert len(refused) == 5
    assert {error.message for error in refused} == {"too many images are being rendered; try again"}


async def test_a_caller_that_leaves_does_not_take_the_result_from_others(one_child):
    first = asyncio.create_task(one_child.render(slow_picture(), 2048, RenderedFormat.WEBP))
    second = asyncio.create_task(one_child.render(slow_picture(), 2048, RenderedFormat.WEBP))
    await asyncio.sleep(0.2)
    first.cancel()

    assert (await second).startswith(b"RIFF")


async def test_closing_ends_children_and_requests(tmp_path):
    renderer = Renderer(RendererLimits(children=2))
    others = set(_children())
    await _start_one(renderer)
    running = [
        asyncio.create_task(renderer.render(slow_picture(), longest, RenderedFormat.AVIF))
        for longest in (1024, 2000, 2048)
    ]
    await asyncio.sleep(0.3)

    await renderer.close()

    results = await asyncio.gather(*running, return_exceptions=True)
    assert [type(result) for result in results] == [Unavailable] * 3, results
    assert set(_children()) == others
    with pytest.raises(Unavailable):
        await renderer.inspect(encoded(".png"))


async def test_a_child_has_no_socket_no_secret_and_no_privilege(one_child, monkeypatch):
    monkeypatch.setenv("VITRINE_SECRET_KEY", "not for children")
    with socket.socket() as inheritable:
        inheritable.set_inheritable(True)
        child = Path("/proc", str(await _start_one(one_child)))

        passed = f"socket:[{os.fstat(inheritable.fileno()).st_ino}]"
        files = {entry.name: os.readlink(entry) for entry in (child / "fd").iterdir()}
        limits = (child / "limits").read_text()
        status = dict(line.split(":\t", 1) for line in (child / "status").read_text().splitlines() if ":\t" in line)

    assert passed not in files.values()
    # Its input and its output, which are sockets or pipes, its memory's size, and nowhere.
    assert len(set(files.values())) == 4, files
    assert b"not for children" not in (child / "environ").read_bytes()
    assert "Max open files            0                    0" in limits
    assert "Max data size             536870912            536870912" in limits
    assert status["CapEff"].strip("0\n") == status["CapPrm"].strip("0\n") == ""
    assert status["NoNewPrivs"].strip() == "1"
    assert status["Seccomp"].strip() == "2"


@pytest.mark.parametrize(
    "answer",
    [
        'length.pack(60_000, 0) + b"[" * 60_000',
        'length.pack(2**32 - 1, 0) + b"{}"',
        'length.pack(2, 2**32 - 1) + b"{}"',
        'length.pack(4, 0) + b"null"',
        'length.pack(5, 0) + b"\\xff" * 5',
        'length.pack(16, 0) + b\'{"resident": "a"}\'[:16]',
        'length.pack(99, 0) + json.dumps({"mime_type": "text/html", "width": 1, "height": 1, "frames": 1,'
        ' "blurhash": "L2Eo[I", "resident": 1}).encode().ljust(99)',
    ],
)
async def test_a_child_that_answers_nonsense_has_failed(one_child, monkeypatch, tmp_path, answer):
    program = tmp_path / "child"
    program.write_text(f"""#!{sys.executable}
import json, struct, sys
length = struct.Struct("!II")
sys.stdout.buffer.write(length.pack(20, 0) + b'{{"is_filtered":true}}')
sys.stdout.flush()
sys.stdin.buffer.read(10)
sys.stdout.buffer.write({answer})
sys.stdout.flush()
sys.stdin.read()
""")
    program.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(program))

    with pytest.raises(RendererFailed, match="nonsense"):
        await one_child.inspect(encoded(".png"))

    assert one_child.usage()["requests"] == 0


async def test_images_are_unavailable_while_no_child_can_start(one_child, monkeypatch):
    for program in ("/bin/false", "/nowhere/python"):
        monkeypatch.setattr(sys, "executable", program)
        with pytest.raises(Unavailable, match="can't be rendered now"):
            await one_child.inspect(encoded(".png"))
    monkeypatch.undo()

    assert (await one_child.inspect(encoded(".png"))).width == 120


def test_servers_load_no_decoder():
    program = "import sys, server.main, server.processes; print(*{'pyvips', '_libvips', 'blurhash'} & {*sys.modules})"

    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout

    assert printed.strip() == ""
