"""A person with a browser in a store's back office, whose fixtures are in conftest.py."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass

import pytest

from domain.orders.payments import record_payment
from kernel.scope import Store, active_scope
from tests.browser.chromium import BrowserError, Page
from tests.browser.shop import AXE, DESKTOP, PHONE, VIOLATIONS, Width
from tests.browser.test_playground import SCREENSHOTS, needs_assets, needs_chromium
from tests.harness.packages import COMMAND, EXAMPLE
from tests.harness.scopes import system_scope, value

OFFICE_MARKS = [
    pytest.mark.browser,
    pytest.mark.slow(seconds=5),
    needs_assets,
    needs_chromium,
    pytest.mark.skipif(not EXAMPLE.is_installed(), reason=f"{EXAMPLE.title}: not installed ({COMMAND})"),
]
each_width = pytest.mark.parametrize("width", [PHONE, DESKTOP], ids=lambda width: width.name)
on_desktop = pytest.mark.parametrize("width", [DESKTOP], ids=lambda width: width.name)
SHOWN = "(document.body?.innerText ?? '').replace(/\\s+/g, ' ')"
_STILL = "document.getAnimations().every(each => each.playState !== 'running')"
_PRESS = """
    (text => [...document.querySelectorAll('button, a, [role=button], [role=menuitem], [role=option]')]
        .find(each => each.getClientRects().length && !each.disabled
            && (each.ariaLabel || each.innerText).replace(/\\s+/g, ' ').trim().startsWith(text)))(%s)
"""


@dataclass
class Clerk:
    """A person with a browser in a store's back office."""

    page: Page
    store: Store
    address: str
    width: Width

    async def see(self, text: str) -> None:
        try:
            await self.page.wait_for(f"{SHOWN}.includes({json.dumps(text)})")
        except BrowserError as error:
            raise BrowserError(f"{error}; shown: {await self.page.evaluate(SHOWN)}") from error

    async def press(self, text: str) -> None:
        control = _PRESS % json.dumps(text)
        await self.page.wait_for(f"!!{control}")
        await self.page.wait_for(_STILL)
        await self.page.click_on(control)

    async def fill(self, name: str, text: str) -> None:
        await self.page.fill(f"[name='{name}']", text)

    async def choose(self, control: str, option: str) -> None:
        """Choose an option of a list whose control is found by JavaScript; what is typed into one is searched for."""
        await self.page.wait_for(f"!!{control}")
        if await self.page.evaluate(f"{control}.matches('input')"):
            await self.page.fill_in(control, option)
            # An option that is drawn again between the press of the button and its release isn't clicked.
            await self.page.wait_for(
                f"(shown => shown.length && shown.every(each => each.innerText.includes({json.dumps(option)})))"
                "([...document.querySelectorAll('[role=option]')])"
            )
        else:
            await self.page.click_on(control)
        await self.press(option)
        # A list that closes gives the focus back, which closes the next one if it is open by then.
        await self.page.wait_for("document.querySelector('[role=listbox]') === null")

    async def submit(self, *, closes: bool = True) -> None:
        """Send the form of the open dialog, and wait until it is closed unless it is refused."""
        await self.page.evaluate("document.querySelector('[role=dialog] [type=submit]').click()")
        if closes:
            await self.page.wait_for("document.querySelector('[role=dialog]') === null")

    async def go(self, path: str, title: str) -> None:
        await self.page.call("Page.navigate", url=f"{self.address}/admin{path}")
        await self.page.wait_for(f"document.querySelector('main h1')?.innerText.startsWith({json.dumps(title)})")

    async def sign_in(self, email: str, password: str) -> None:
        await self.fill("identifier", email)
        await self.fill("password", password)
        await self.page.press("Enter")

    def excuse(self, text: str) -> None:
        """Forget what the browser complained about because the test wanted it."""
        self.page.complaints[:] = [complaint for complaint in self.page.complaints if text not in complaint]

    async def check(self, name: str) -> None:
        """Check the page that is shown for accessibility and width, and keep a screenshot."""
        await self.page.wait_for(
            "document.querySelector('main h1') !== null && document.querySelector('[aria-busy=true]') === null"
        )
        if not await self.page.evaluate("typeof axe === 'object'"):
            await self.page.evaluate(AXE.read_text(encoding="utf-8"))
        await self.page.wait_for(_STILL)
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        await self.page.screenshot(SCREENSHOTS / f"admin-{self.width.name}-{name}.png", whole=True)
        violations = await self.page.evaluate(VIOLATIONS)
        if violations:  # a message that fades away meanwhile has no contrast
            await asyncio.sleep(0.5)
            await self.page.wait_for(_STILL)
            violations = await self.page.evaluate(VIOLATIONS)
        assert violations == [], (name, violations)
        assert await self.page.evaluate("document.documentElement.scrollWidth") <= self.width.width, name


async def recorded_payment(store: Store) -> str:
    """Return the ID of a payment that was recorded for an order, of which no gateway knows."""
    scope = system_scope(store)
    order = await value(store, "select id from orders where status = 'O' order by id limit 1")
    with active_scope(scope):
        await record_payment(scope, order, 1_000)
    return str(await value(store, "select public_id from payments order by id desc limit 1"))
