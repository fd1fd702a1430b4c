"""Drive the machine's Chromium through the DevTools Protocol, for tests that need a real browser.

async with chromium() as browser:
    page = await browser.open("http://127.0.0.1:8000/")
    await page.click("#token")
    await page.type("secret")
    await page.wait_for("document.title === 'Vitrine'")
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import json
import os
import re
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, Final

import aiohttp

PROGRAMS: Final = ("chromium", "chromium-browser", "google-chrome")
FLAGS: Final = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--disable-component-extensions-with-background-pages",
    "--disable-default-apps",
    "--disable-breakpad",
    "--disable-features=BackForwardCache,MediaRouter,OptimizationHints,Translate",
    # The browser can only reach our own server.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost, EXCLUDE *.localhost",
    "--remote-debugging-port=0",
)
MODIFIERS: Final[Mapping[str, int]] = {"Alt": 1, "Control": 2, "Meta": 4, "Shift": 8}
KEYS: Final[Mapping[str, int]] = {"Enter": 13, "Escape": 27, "Tab": 9, "Backspace": 8, "Delete": 46, "End": 35}
_PICTURE: Final = base64.b64encode(
    b"<svg xmlns='http://www.w3.org/2000/svg' width='800' height='800'><rect width='800' height='800' fill='#d8c3a5'/>"
    b"<circle cx='400' cy='420' r='210' fill='#b5523b'/><rect x='330' y='150' width='140' height='120' fill='#8d3f2d'/></svg>"
).decode()
# The middle of an element that has not moved for a moment and would get the click; otherwise nothing, and why in `window.missed`.
_POINT: Final = """
    (async find => {
        const middle = element => {
            const box = element.getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2];
        };
        const before = find();
        before?.scrollIntoView({block: 'nearest'});
        const point = before && middle(before);
        await new Promise(resolve => setTimeout(resolve, 50));
        const after = find();
        const miss = why => { window.missed = why; return null; };
        if (!point || after !== before) return miss(point ? 'replaced' : 'absent');
        if (String(middle(after)) !== String(point)) return miss(`moved from ${point} to ${middle(after)}`);
        const hit = document.elementFromPoint(...point);
        if (!after.contains(hit) && after.control !== hit)
            return miss(`at ${point} is ${hit?.cloneNode().outerHTML ?? 'no element of the window'}`);
        window.pressed = false;
        after.addEventListener('mousedown', () => { window.pressed = true; }, {capture: true, once: true});
        return point;
    })(() => %s)
"""
MOST_CLICKS: Final = 5
START_SECONDS: Final = 30.0
ANSWER_SECONDS: Final = 30.0
POLL_SECONDS: Final = 0.05


class BrowserError(Exception):
    """A protocol error, or a condition that never became true in a page."""


class NoAnswer(BrowserError):
    """A protocol command that the browser hasn't answered in time."""


def find_chromium() -> str | None:
    """Return the path of the installed Chromium, if any."""
    return next((path for path in map(shutil.which, PROGRAMS) if path), None)


# What the browser answers when the page is left meanwhile, by a reload for example.
_LEFT = "Inspected target navigated or closed"


class Page:
    """An open tab; `requests` and `complaints` grow while it is open."""

    def __init__(self, browser: Browser, context: str, target: str, session: str) -> None:
        """Belong to one tab of the browser."""
        self._browser = browser
        self.context = context
        """What the tab shares its storage with."""
        self._target = target
        self._session = session
        self.requests: list[str] = []
        """The URLs requested by the page."""
        self.complaints: list[str] = []
        """Uncaught exceptions, console errors and browser reports such as blocked styles."""
        self.operations: list[str] = []
        """The names of the GraphQL operations sent by POST."""
        self._answers: set[asyncio.Task[Any]] = set()

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a protocol command to this tab and return its result."""
        return await self._browser.call(method, params, self._session)

    async def evaluate(self, expression: str) -> Any:
        """Evaluate JavaScript in the page, awaiting a promise, and return its value."""
        answer = await self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise BrowserError(f"{expression}: {_exception_text(answer['exceptionDetails'])}")
        return answer["result"].get("value")

    async def wait_for(self, expression: str, seconds: float = 15.0) -> Any:
        """Wait until the expression is truthy and return its value; raise `BrowserError` on a time-out."""
        deadline = asyncio.get_running_loop().time() + seconds
        while True:
            value = None
            try:
                value = await self.evaluate(expression)
            except BrowserError as error:
                if _LEFT not in str(error):
                    raise
            if value:
                return value
            if asyncio.get_running_loop().time() > deadline:
                raise BrowserError(f"not true within {seconds:g} s: {expression}; complaints: {self.complaints}")
            await asyncio.sleep(POLL_SECONDS)

    async def click(self, selector: str) -> None:
        """Click in the middle of the first matching element, as `click_on` does."""
        await self.click_on(f"document.querySelector({json.dumps(selector)})")

    async def click_on(self, element: str) -> None:
        """Click in the middle of an element, found by JavaScript, once it is visible, stands still, and nothing covers it.

        Again when the press missed it: a page may replace or move it while it is drawn.
        """
        await self.wait_for(f"{element}?.getBoundingClientRect().width > 0")
        for _ in range(MOST_CLICKS):
            try:
                x, y = await self.wait_for(_POINT % element)
            except BrowserError as error:
                raise BrowserError(f"{error}; {await self.evaluate('window.missed')}") from error
            for event in ("mousePressed", "mouseReleased"):
                await self.call("Input.dispatchMouseEvent", type=event, x=x, y=y, button="left", clickCount=1)
            for _ in range(2):
                # A click that leaves the page leaves nothing to ask; what opens when it is pressed gets the rest of the click.
                if await self.evaluate("window.pressed") is not False:
                    return
                await asyncio.sleep(POLL_SECONDS)
        raise BrowserError(f"{MOST_CLICKS} clicks missed {element}")

    async def type(self, text: str) -> None:
        """Insert text into the focused element."""
        await self.call("Input.insertText", text=text)

    async def press(self, key: str, *modifiers: str) -> None:
        """Press and release one key: a letter or a name of `KEYS`, held with names of `MODIFIERS`."""
        pressed: dict[str, Any] = {
            "key": key,
            "code": key if key in KEYS else f"Key{key.upper()}",
            "windowsVirtualKeyCode": KEYS.get(key) or ord(key.upper()),
            "modifiers": sum(MODIFIERS[name] for name in modifiers),
        }
        if key == "Enter" and not modifiers:
            pressed["text"] = "\r"
        elif len(key) == 1 and not modifiers:
            pressed["text"] = key
        await self.call("Input.dispatchKeyEvent", type="keyDown" if "text" in pressed else "rawKeyDown", **pressed)
        pressed.pop("text", None)
        await self.call("Input.dispatchKeyEvent", type="keyUp", **pressed)

    async def fill(self, selector: str, text: str) -> None:
        """Replace the text of the first matching input, as `fill_in` does."""
        await self.fill_in(f"document.querySelector({json.dumps(selector)})", text)

    async def fill_in(self, element: str, text: str) -> None:
        """Replace the text of an input, found by JavaScript, once it takes the focus: one of a form that is being sent doesn't."""
        # An empty number has nothing to select.
        await self.wait_for(
            f"(input => {{ input?.focus(); input?.select(); return input && input === document.activeElement }})({element})"
        )
        await self.type(text)

    async def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """Save a screenshot of the tab, or of the `whole` page, as a PNG or WebP file by the name's suffix."""
        form = {"format": "webp", "quality": 40} if path.suffix == ".webp" else {"format": "png"}
        shot = await self.call("Page.captureScreenshot", **form, captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))

    async def close(self) -> None:
        """Close the tab."""
        await self._browser.call("Target.closeTarget", {"targetId": self._target})

    def hear(self, method: str, params: Mapping[str, Any]) -> None:
        """Record a protocol event of this tab."""
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
            self.operations += re.findall(r'"operationName":"(\w+)"', params["request"].get("postData", ""))
        elif method == "Fetch.requestPaused":
            picture = {"responseHeaders": [{"name": "Content-Type", "value": "image/svg+xml"}], "body": _PICTURE}
            answer = self.call("Fetch.fulfillRequest", requestId=params["requestId"], responseCode=200, **picture)
            self._answers.add(task := asyncio.create_task(answer))
            task.add_done_callback(self._answers.discard)
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(_exception_text(params["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and params["type"] == "error":
            values = (str(value.get("value", value.get("description"))) for value in params["args"])
            self.complaints.append(" ".join(values))
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.complaints.append(f"{params['entry']['text']} {params['entry'].get('url', '')}".strip())


class Browser:
    """A running Chromium, controlled over a single socket."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        """Listen on an open protocol socket."""
        self._socket = socket
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._pages: dict[str, Page] = {}
        self._contexts: list[str] = []
        self._listener = asyncio.create_task(self._listen())

    async def call(
        self, method: str, params: Mapping[str, Any] | None = None, session: str | None = None
    ) -> dict[str, Any]:
        """Send a protocol command and return its result; raise `BrowserError` when it fails."""
        if self._listener.done():
            raise BrowserError(f"{method}: the browser is gone")
        number = next(self._numbers)
        command = {"id": number, "method": method, "params": params or {}}
        if session:
            command["sessionId"] = session
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            await self._socket.send_json(command)
            return await asyncio.wait_for(answer, ANSWER_SECONDS)
        except TimeoutError as error:
            raise NoAnswer(f"{method}: no answer within {ANSWER_SECONDS:g} s") from error
        finally:
            del self._waiting[number]

    async def open(
        self, url: str, *, width: int = 1440, height: int = 900, is_phone: bool = False, storage_of: Page | None = None
    ) -> Page:
        """Open an address in a tab of this size, with empty storage or that of another tab; images of other hosts are a picture of ours."""
        context = storage_of.context if storage_of else await self._new_context()
        target = await self.call(
            "Target.createTarget",
            {
                "url": "about:blank",
                "browserContextId": context,
                "newWindow": True,
                "width": width,
                "height": height,
            },
        )
        attached = await self.call("Target.attachToTarget", {"targetId": target["targetId"], "flatten": True})
        page = self._pages[attached["sessionId"]] = Page(self, context, target["targetId"], attached["sessionId"])
        for domain in ("Page", "Runtime", "Network", "Log"):
            await page.call(f"{domain}.enable")
        await page.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=is_phone,
        )
        if is_phone:
            await page.call("Emulation.setTouchEmulationEnabled", enabled=True)
        await page.call("Fetch.enable", patterns=[{"urlPattern": "https://*", "resourceType": "Image"}])
        went = await page.call("Page.navigate", url=url)
        if "errorText" in went:
            raise BrowserError(f"{url}: {went['errorText']}")
        await page.wait_for("document.readyState === 'complete'")
        return page

    async def _new_context(self) -> str:
        created = await self.call("Target.createBrowserContext", {"disposeOnDetach": True})
        context: str = created["browserContextId"]
        self._contexts.append(context)
        return context

    async def close_pages(self) -> None:
        """Close all tabs and remove their storage; what the browser doesn't remove in time stays, and no other tab uses it."""
        self._pages.clear()
        while self._contexts:
            with contextlib.suppress(NoAnswer):
                await self.call("Target.disposeBrowserContext", {"browserContextId": self._contexts.pop()})

    async def close(self) -> None:
        """Close the browser and stop listening."""
        with contextlib.suppress(BrowserError, ConnectionError):
            await self.call("Browser.close")
        await self._socket.close()
        await asyncio.gather(self._listener, return_exceptions=True)

    async def _listen(self) -> None:
        """Dispatch results to their callers and events to their page, until the socket closes."""
        async for message in self._socket:
            if message.type is not aiohttp.WSMsgType.TEXT:
                continue
            said = message.json()
            if "id" not in said:
                page = self._pages.get(said.get("sessionId", ""))
                if page:
                    page.hear(said["method"], said["params"])
                continue
            answer = self._waiting.get(said["id"])
            if answer is None or answer.done():
                continue
            if "error" in said:
                answer.set_exception(BrowserError(said["error"]["message"]))
            else:
                answer.set_result(said["result"])
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(BrowserError("the browser is gone"))


@contextlib.asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """Run a Chromium with an empty profile; raise `BrowserError` if there is none."""
    program = find_chromium()
    if program is None:
        raise BrowserError("Chromium is not installed (Debian: apt-get install chromium)")
    with tempfile.TemporaryDirectory(prefix="vitrine-chromium-", ignore_cleanup_errors=True) as profile:
        process = await asyncio.create_subprocess_exec(
            program,
            *FLAGS,
            f"--user-data-dir={profile}",
            "about:blank",
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            address = await _protocol_address(Path(profile) / "DevToolsActivePort", process)
            async with aiohttp.ClientSession() as session:
                socket = await session.ws_connect(address, max_msg_size=0)
                browser = Browser(socket)
                try:
                    yield browser
                finally:
                    await browser.close()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), 5)
        finally:
            # The whole process group: Chromium's helpers outlive a killed parent.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


async def _protocol_address(port_file: Path, process: asyncio.subprocess.Process) -> str:
    """Wait for the file with Chromium's port and path, and return its socket URL."""
    deadline = asyncio.get_running_loop().time() + START_SECONDS
    while asyncio.get_running_loop().time() < deadline:
        if process.returncode is not None:
            raise BrowserError(f"Chromium ended at once with exit code {process.returncode}")
        lines = port_file.read_text(encoding="ascii").split() if port_file.exists() else []
        if len(lines) == 2:
            return f"ws://127.0.0.1:{lines[0]}{lines[1]}"
        await asyncio.sleep(POLL_SECONDS)
    raise BrowserError(f"Chromium did not open its port within {START_SECONDS:g} s")


def _exception_text(details: Mapping[str, Any]) -> str:
    """Format a JavaScript exception."""
    return str(details.get("exception", {}).get("description") or details["text"])
