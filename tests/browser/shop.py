"""Use the example storefront like a customer, and check on the way that each page works for everyone."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from kernel.scope import Store
from tests.browser.chromium import Browser, BrowserError, Page
from tests.browser.test_playground import SCREENSHOTS
from tests.harness.packages import EXAMPLE

AXE = EXAMPLE.folder / "node_modules" / "axe-core" / "axe.min.js"
MIN_TARGET = 44
# Links in the flow of a text are as high as its lines (WCAG 2.5.8 exempts them).
_SMALL_TARGETS = """
    [...document.querySelectorAll('button, select, summary, input:not([type=checkbox], [type=radio]), nav a, .card a, .button')]
        .map(element => [element, element.getBoundingClientRect()])
        .filter(([element, box]) => box.width > 1 && (box.height < %d || box.width < 24))
        .map(([element, box]) => `${element.outerHTML.slice(0, 80)} ${box.width} × ${box.height}`)
"""
VIOLATIONS = """
    axe.run(document, {resultTypes: ['violations']}).then(results => results.violations.map(violation =>
        `${violation.id}: ${violation.nodes.map(node => node.html.slice(0, 120) + ' ' + node.any.map(each => each.message)).join(' | ')}`))
"""
# Amounts of money have a no-break space.
_CONTROL = """
    [...document.querySelectorAll(%s)].find(element => element.getClientRects().length
        && (element.ariaLabel || element.innerText || element.textContent).replace(/\\s+/g, ' ').trim().startsWith(%s))
"""
_SHOWN = "(document.querySelector('#shop')?.innerText ?? '').replace(/\\s+/g, ' ')"
_FOCUSED = """
    (element => element === document.body ? '' : element.ariaLabel || element.innerText || element.labels?.[0]?.innerText || '')
        (document.activeElement).replace(/\\s+/g, ' ').trim()
"""
MAX_TABS = 60


@dataclass(frozen=True)
class Width:
    """The size of a screen."""

    name: str
    width: int
    height: int

    @property
    def is_phone(self) -> bool:
        return self.name == "phone"


PHONE = Width("phone", 390, 844)
DESKTOP = Width("desktop", 1280, 900)


@dataclass
class Shopper:
    """A customer with a browser in a store's shop."""

    page: Page
    store: Store
    address: str
    width: Width
    visited: list[str] = field(default_factory=list)

    @classmethod
    async def enter(cls, browser: Browser, store: Store, address: str, width: Width) -> Shopper:
        page = await browser.open(f"{address}/", width=width.width, height=width.height, is_phone=width.is_phone)
        return cls(page, store, address, width)

    async def see(self, text: str) -> None:
        """Wait until the page shows a text."""
        try:
            await self.page.wait_for(f"{_SHOWN}.includes({json.dumps(text)})")
        except BrowserError as error:
            raise BrowserError(f"{error}; shown: {await self.page.evaluate(_SHOWN)}") from error

    async def press(self, text: str, kind: str = "a, button, summary, label") -> None:
        """Click the first visible control whose text begins so."""
        control = _CONTROL % (json.dumps(kind), json.dumps(text))
        try:
            await self.page.wait_for(
                f"(control => control && !control.disabled && control.ariaDisabled !== 'true')({control})"
            )
        except BrowserError as error:
            raise BrowserError(f"{error}; shown: {await self.page.evaluate(_SHOWN)}") from error
        await self.page.click_on(control)

    async def fill(self, **values: str) -> None:
        """Fill inputs by name, the first visible one of each."""
        for name, text in values.items():
            if name == "state":
                await self.page.evaluate(
                    f"(select => {{ select.value = {json.dumps(text)};"
                    " select.dispatchEvent(new Event('change', {bubbles: true})) })(document.querySelector('[name=state]'))"
                )
            else:
                inputs = f"[...document.querySelectorAll('main [name={name}]')]"
                await self.page.fill_in(f"{inputs}.find(each => each.checkVisibility())", text)

    async def go(self, path: str) -> None:
        await self.page.call("Page.navigate", url=f"{self.address}{path}")
        await self.page.wait_for("document.querySelector('main h1') !== null")

    async def check(self, name: str) -> None:
        """Check the page that is shown: accessibility, width, size of its targets; and keep a screenshot."""
        await self.page.wait_for(
            "document.querySelector('main h1') !== null && document.querySelector('[aria-busy=true]') === null"
        )
        if not await self.page.evaluate("typeof axe === 'object'"):
            await self.page.evaluate(AXE.read_text(encoding="utf-8"))
        # axe measures contrast, which a fading page doesn't have yet.
        await self.page.wait_for("document.getAnimations().length === 0")
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        await self.page.screenshot(SCREENSHOTS / f"shop-{self.width.name}-{name}.png", whole=True)
        violations = await self.page.evaluate(VIOLATIONS)
        assert violations == [], (name, violations)
        assert await self.page.evaluate("document.documentElement.scrollWidth") <= self.width.width, name
        if self.width.is_phone:
            assert await self.page.evaluate(_SMALL_TARGETS % MIN_TARGET) == [], name
        assert await self.page.evaluate("document.querySelectorAll('h1').length") == 1, name
        self.visited.append(name)

    async def text(self, selector: str) -> str:
        text: Any = await self.page.wait_for(f"document.querySelector({json.dumps(selector)})?.innerText")
        return str(text)

    async def tab_to(self, text: str) -> None:
        """Press Tab until a control whose name begins so has the focus."""
        for _ in range(MAX_TABS):
            await self.page.press("Tab")
            if (await self.page.evaluate(_FOCUSED)).startswith(text):
                return
        raise BrowserError(f"Tab never reaches {text}")

    async def see_control_focused(self, text: str) -> None:
        """Wait until the control whose name begins so has the focus, which it keeps or gets after a change."""
        try:
            await self.page.wait_for(f"({_FOCUSED}).startsWith({json.dumps(text)})")
        except BrowserError as error:
            raise BrowserError(f"{error}; focused: {await self.page.evaluate(_FOCUSED)}") from error

    async def see_focus(self, text: str) -> None:
        """Wait until an element with this text has the focus, which it gets after it is shown."""
        focused = "(document.activeElement.innerText ?? '')"
        try:
            await self.page.wait_for(f"{focused} === {json.dumps(text)}")
        except BrowserError as error:
            raise BrowserError(f"{error}; focused: {await self.page.evaluate(focused)}") from error
