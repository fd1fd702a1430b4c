"""Every page of the back office on a phone, in both languages: nothing is cut, in the other language, or in anybody's way (axe)."""

from __future__ import annotations

import json
import re

import pytest

from auth.privileges import ALL
from server.assets.build import BACK_OFFICE, SCHEMA
from tests.browser.office import OFFICE_MARKS, Clerk
from tests.browser.shop import PHONE
from tests.harness.records import PASSWORD, add_user

pytestmark = OFFICE_MARKS
ENTITIES = re.findall(r"^  (\w+)_page\(", SCHEMA.read_text("utf-8"), re.MULTILINE)
_SOURCES = "\n".join(path.read_text("utf-8") for path in (BACK_OFFICE / "src").rglob("*.ts") if "texts" in str(path))
TEXTS = re.findall(r'^  "([a-z_]+\.[a-z_.]+)": \["([^"]+)", "([^"]+)"\]', _SOURCES, re.MULTILINE)
KEYS = {key for key, _, _ in TEXTS}
PORTUGUESE, ENGLISH = ({texts[place] for texts in TEXTS} for place in (1, 2))
# What stays until the next page is shown.
_GO = """
    (path => {
        document.querySelector('main h1')?.setAttribute('data-left', '');
        history.pushState(null, '', '/admin' + path);
        dispatchEvent(new PopStateEvent('popstate'));
    })(%s)
"""
_ARRIVED = """
    document.querySelector('main h1') !== null && document.querySelector('main h1[data-left]') === null
        && document.querySelector('main [aria-busy=true], main [role=progressbar]') === null
"""
_RECORDS = """
    [...document.querySelectorAll('main a[href]')].map(each => new URL(each.href).pathname.replace('/admin', ''))
        .filter(path => /^\\/%s\\/([0-9a-f-]{36}|create)$/.test(path))
"""
# What ends beyond the edge of the page, or a text beyond that of its box, where nothing scrolls.
_CUT = """
    (width => [...document.querySelectorAll('main *')].filter(each => {
        const box = each.getBoundingClientRect();
        if (!box.width || !box.height || each.closest('svg, input, .visually-hidden')) return false;
        for (let outer = each.parentElement; outer; outer = outer.parentElement) {
            if (/auto|scroll/.test(getComputedStyle(outer).overflowX)) return false;
        }
        const hasText = [...each.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
        const isCut = hasText && getComputedStyle(each).overflowX !== 'visible' && each.scrollWidth > each.clientWidth + 1;
        return box.right > width + 0.5 || box.left < -0.5 || isCut;
    }).map(each => (each.innerText || each.outerHTML).slice(0, 80)))(document.documentElement.clientWidth)
"""
_LABELS = """
    [...new Set([...document.querySelectorAll('label, legend, dt, th, button, nav a, main h1, main h2, main h3, main p')]
        .flatMap(each => [each.innerText.trim(), each.ariaLabel ?? '', each.title]))].filter(Boolean)
"""


@pytest.mark.slow(seconds=90)
@pytest.mark.parametrize("width", [PHONE], ids=lambda width: width.name)
@pytest.mark.parametrize(
    "locale, home, foreign",
    [("en", "Home", PORTUGUESE - ENGLISH), ("pt-BR", "Início", ENGLISH - PORTUGUESE)],
    ids=["en", "pt"],
)
async def test_every_page_fits_and_speaks_one_language(clerk: Clerk, locale: str, home: str, foreign: set[str]) -> None:
    user = await add_user(clerk.store, *ALL)
    await clerk.page.evaluate(f"localStorage.setItem('vitrine.locale', {json.dumps(locale)})")
    await clerk.page.call("Page.reload")
    await clerk.page.wait_for("document.querySelector('[name=identifier]') !== null")
    problems = {"sign-in": await look(clerk, f"{locale}-sign-in", foreign)}
    await clerk.sign_in(user.email, PASSWORD)
    await clerk.see(home)
    problems["home"] = await look(clerk, f"{locale}-home", foreign)
    paths = ["/sessions", "/events", "/import/product", *(f"/{name}" for name in ENTITIES)]
    for path in paths:
        await clerk.page.evaluate(_GO % json.dumps(path))
        await clerk.page.wait_for(f"{_ARRIVED} /* {path} */")
        problems[path] = await look(
            clerk, f"{locale}{re.sub('[0-9a-f-]{36}', 'record', path).replace('/', '-')}", foreign
        )
        if path.count("/") == 1:
            # A record, and the form of a new one.
            links = await clerk.page.evaluate(_RECORDS % path.strip("/"))
            paths += {link.endswith("/create"): link for link in reversed(links)}.values()
    assert len(paths) > 2 * len(ENTITIES)
    assert {path: texts for path, texts in problems.items() if texts} == {}


async def look(clerk: Clerk, name: str, foreign: set[str]) -> list[str]:
    """Check the page that is shown, and return the texts that are cut or not of the language."""
    await clerk.check(name)
    labels = set(await clerk.page.evaluate(_LABELS))
    unknown = {label for label in labels if label in KEYS or re.match(r"ra\.[a-z_.]+$", label)}
    return [*await clerk.page.evaluate(_CUT), *sorted(labels & foreign), *sorted(unknown)]
