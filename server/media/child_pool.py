"""Decode and render images in a few confined child processes (`server.media.child`).

Children start when they are needed, and have one request at a time. One that crashed, takes too long, or has grown is replaced; its image
is refused with a text, nothing else is affected. Identical requests that run or wait share one result.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import signal
import struct
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from domain.media.renderer import (
    LONGEST,
    MAX_BYTES,
    SHORTEST,
    ImageInfo,
    NotAnImage,
    RenderedFormat,
    RendererFailed,
    configure,
)
from kernel import logging
from kernel.errors import Unavailable

_MIME_TYPES = ("image/jpeg", "image/png", "image/webp", "image/gif", "image/avif", "image/heic")
_LENGTHS = struct.Struct("!II")
_LONGEST_ANSWER = 64 * 1024
_LONGEST_RESULT = 64 * 1024 * 1024
_LONGEST_TEXT = 500
_END_SECONDS = 1.0
_NONSENSE = "the decoder answered with nonsense"
_BLURHASH = re.compile(r"[0-9A-Za-z#$%*+,\-.:;=?@\[\]^_{|}~]{6,100}")
# Without secrets. One thread of libvips, two heaps: each thread's would reserve 64 MB of the limited memory. Images that libvips holds
# whole stay in memory: there is no file to write.
_ENVIRONMENT = {"VIPS_CONCURRENCY": "1", "MALLOC_ARENA_MAX": "2", "VIPS_DISC_THRESHOLD": "4g", "LANG": "C.UTF-8"}
_PASSED_ON = ("LD_LIBRARY_PATH", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE")


@dataclass(frozen=True, slots=True)
class RendererLimits:
    """Limits of an image and of the child that decodes it; sizes in bytes."""

    content: int = MAX_BYTES
    pixels: int = 50_000_000
    frames: int = 200
    memory: int = 512 * 1024 * 1024
    kept_memory: int = 192 * 1024 * 1024
    """A child that still has more after a request is replaced."""
    cpu_seconds: int = 10
    clock_seconds: float = 20.0
    """Of a request at the child, when it hangs or the machine is busy; at most as long does a child take to start."""
    children: int = 2
    waiting: int = 50


@asynccontextmanager
async def image_renderer() -> AsyncIterator[Renderer]:
    """Provide the domain with a renderer; no child starts before the first image."""
    renderer = Renderer()
    configure(renderer)
    try:
        yield renderer
    finally:
        configure(None)
        await renderer.close()


class Renderer:
    """Run the children of this process, and close them with it."""

    def __init__(self, limits: RendererLimits | None = None) -> None:
        self._limits = limits or RendererLimits()
        self._turns = asyncio.Semaphore(self._limits.children)
        self._idle: list[_Child] = []
        self._children: set[_Child] = set()
        self._shared: dict[tuple[Any, ...], asyncio.Task[Any]] = {}
        self._closed = False

    async def inspect(self, content: bytes | Path) -> ImageInfo:
        """Do what `ImageRenderer.inspect` does."""
        answer, _ = await self._share(content, {})
        return _read_info(answer)

    async def render(self, content: bytes | Path, longest: int, file_format: RenderedFormat) -> bytes:
        """Do what `ImageRenderer.render` does."""
        if not SHORTEST <= longest <= LONGEST:
            raise ValueError(f"longest is {longest}; expected {SHORTEST} to {LONGEST}")
        _, rendered = await self._share(content, {"longest": longest, "format": file_format.value})
        return rendered

    def usage(self) -> dict[str, int]:
        """Return how many children run, and how many different requests run or wait."""
        return {"children": len(self._children), "requests": len(self._shared)}

    async def close(self) -> None:
        """Stop all children; requests that run or wait raise `Unavailable`."""
        self._closed = True
        for child in self._children:
            child.kill()
        await asyncio.gather(*self._shared.values(), return_exceptions=True)
        await asyncio.gather(*(self._stop(child) for child in list(self._children)))

    async def _share(self, content: bytes | Path, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        """Return the answer of the request that runs or waits for the same result, or of a new one."""
        key = (await asyncio.to_thread(_identify, content, self._limits.content), *request.values())
        task = self._shared.get(key)
        if task is None:
            if len(self._shared) >= self._limits.waiting:
                raise Unavailable("too many images are being rendered; try again")
            task = self._shared[key] = asyncio.create_task(self._run(content, request))
            task.add_done_callback(lambda done: self._drop(key, done))
        # A caller that leaves doesn't take the result from the others.
        return await asyncio.shield(task)

    def _drop(self, key: tuple[Any, ...], task: asyncio.Task[Any]) -> None:
        del self._shared[key]
        if not task.cancelled():
            task.exception()  # no caller may be left who reads it

    async def _run(self, content: bytes | Path, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        async with self._turns:
            if isinstance(content, Path):
                content = await asyncio.to_thread(content.read_bytes)
            child = await self._acquire()
            answer: dict[str, Any] = {}
            try:
                answer, rendered = await child.ask(request, content)
            except RendererFailed:
                self._raise_if_closed()
                raise
            finally:
                if answer.get("resident", sys.maxsize) <= self._limits.kept_memory and not self._closed:
                    self._idle.append(child)
                else:
                    await self._stop(child)
        if "refused" in answer:
            raise NotAnImage(str(answer["refused"])[:_LONGEST_TEXT])
        if "failed" in answer:
            raise RendererFailed(_needs_too_much(self._limits))
        return answer, rendered

    async def _acquire(self) -> _Child:
        while self._idle:
            child = self._idle.pop()
            if child.is_running:
                return child
            await self._stop(child)
        self._raise_if_closed()
        child = await _Child.start(self._limits)
        self._children.add(child)
        try:
            await child.become_ready()
            self._raise_if_closed()
        except BaseException:
            await self._stop(child)
            raise
        return child

    async def _stop(self, child: _Child) -> None:
        await child.stop()
        self._children.discard(child)

    def _raise_if_closed(self) -> None:
        if self._closed:
            raise Unavailable("the server is stopping; try again")


class _Child:
    """A child process. What it answers is not trusted: hostile content may have taken it over."""

    _warned = False

    def __init__(self, process: Process, limits: RendererLimits) -> None:
        self._process = process
        self._limits = limits

    @classmethod
    async def start(cls, limits: RendererLimits) -> _Child:
        """Start a process; it inherits no socket and no file."""
        environment = {
            **_ENVIRONMENT,
            **{name: os.environ[name] for name in _PASSED_ON if name in os.environ},
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        }
        names = ("pixels", "frames", "memory", "cpu_seconds")
        arguments = json.dumps({name: getattr(limits, name) for name in names})
        try:
            process = await asyncio.create_subprocess_exec(
                # -P: don't search the current directory for modules.
                sys.executable, "-P", "-m", "server.media.child", arguments,
                stdin=PIPE, stdout=PIPE, env=environment,
            )  # fmt: skip
        except OSError as error:
            logging.event("process for images can't start", level="error", error=str(error))
            raise Unavailable("images can't be rendered now; try again") from error
        return cls(process, limits)

    @property
    def is_running(self) -> bool:
        return self._process.returncode is None

    async def become_ready(self) -> None:
        """Wait until it is confined; raise `Unavailable` if it ends before or takes too long."""
        try:
            async with asyncio.timeout(self._limits.clock_seconds):
                answer, _ = await self._read()
        except (TimeoutError, EOFError, OSError, ValueError) as error:
            logging.event("process for images doesn't start", level="error", code=self._process.returncode)
            raise Unavailable("images can't be rendered now; try again") from error
        if not answer.get("is_filtered") and not _Child._warned:
            _Child._warned = True
            logging.event("system calls of processes for images are not filtered", level="warning")

    async def ask(self, request: dict[str, Any], content: bytes) -> tuple[dict[str, Any], bytes]:
        """Return the answer; raise `RendererFailed` if there is none in time."""
        encoded = json.dumps(request).encode()
        assert self._process.stdin is not None
        try:
            async with asyncio.timeout(self._limits.clock_seconds):
                self._process.stdin.writelines((_LENGTHS.pack(len(encoded), len(content)), encoded, content))
                await self._process.stdin.drain()
                return await self._read()
        except TimeoutError as error:
            logging.event("process for images takes too long", level="warning")
            text = f"decoding the image took longer than {self._limits.clock_seconds:g} s"
            raise RendererFailed(text) from error
        except ValueError as error:
            raise RendererFailed(_NONSENSE) from error
        except (EOFError, OSError) as error:
            raise RendererFailed(await self._explain_end()) from error

    async def _read(self) -> tuple[dict[str, Any], bytes]:
        reader = self._process.stdout
        assert reader is not None
        answer_length, content_length = _LENGTHS.unpack(await reader.readexactly(_LENGTHS.size))
        if answer_length > _LONGEST_ANSWER or content_length > _LONGEST_RESULT:
            raise ValueError("the answer is too long")
        try:
            answer = json.loads(await reader.readexactly(answer_length))
        except RecursionError as error:
            raise ValueError("the answer is nested too deeply") from error
        if not isinstance(answer, dict) or not isinstance(answer.get("resident", 0), int):
            raise ValueError("the answer has another form")
        return answer, await reader.readexactly(content_length)

    async def _explain_end(self) -> str:
        """Return why it closed its output."""
        code = None
        with suppress(TimeoutError):
            async with asyncio.timeout(_END_SECONDS):
                code = await self._process.wait()
        logging.event("process for images ended", level="warning", code=code)
        if code == -signal.SIGPROF:
            return f"decoding the image took more than {self._limits.cpu_seconds} s of CPU time"
        if code == -signal.SIGKILL:
            return "the process that decoded the image was killed"
        return _needs_too_much(self._limits)

    def kill(self) -> None:
        """End the process at once, whatever it does."""
        if self._process.returncode is None:
            # Not `Process.kill`: it waits for a process that has just ended, and asyncio, which waits too, warns that there is none.
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)

    async def stop(self) -> None:
        """Kill the process and wait for its end, so that it leaves no zombie."""
        self.kill()
        await self._process.wait()
        assert self._process.stdin is not None
        self._process.stdin.close()


def _identify(content: bytes | Path, most_bytes: int) -> tuple[Any, ...]:
    """Return what is equal for the same content; refuse too much of it."""
    identity: tuple[Any, ...]
    if isinstance(content, Path):
        status = content.stat()
        size, identity = status.st_size, (str(content), status.st_mtime_ns, status.st_size)
    else:
        size, identity = len(content), (hashlib.sha256(content).digest(),)
    if not size:
        raise NotAnImage("the file is empty")
    if size > most_bytes:
        raise NotAnImage(f"the image has {size} bytes; at most {most_bytes} ({most_bytes // 1024**2} MB) are accepted")
    return identity


def _needs_too_much(limits: RendererLimits) -> str:
    return f"the decoder crashed, or the image needs more than {limits.memory // 1024**2} MB of memory to be decoded"


def _read_info(answer: dict[str, Any]) -> ImageInfo:
    mime_type, blurhash = answer.get("mime_type"), answer.get("blurhash")
    numbers: Any = [answer.get(name) for name in ("width", "height", "frames")]
    if (
        mime_type not in _MIME_TYPES
        or not isinstance(blurhash, str)
        or not _BLURHASH.fullmatch(blurhash)
        or not all(isinstance(number, int) and 0 < number < 2**31 for number in numbers)
    ):
        raise RendererFailed(_NONSENSE)
    width, height, frames = numbers
    return ImageInfo(mime_type, width, height, frames, blurhash)
