"""The pages below `/dev`: who may see them, the stores they show, and how they look.

They show secrets and decide on payments: a page can't be framed, run scripts or be cached.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from aiohttp import hdrs, web

from auth.store_resolution import build_store, parse_host
from kernel.scope import Store
from models.connection import database
from server.http.html_pages import html_page, page_headers, style_source

MAX_STORES = 20

_LOCAL = frozenset({"localhost", "127.0.0.1", "[::1]"})
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; color: #222; background: #fff; }
h2 { margin-top: 2.5rem; } article { border: 1px solid #ccc; border-radius: 6px; padding: .8rem 1rem; margin: 1rem 0; }
h3 { margin: 0; } p { margin: .2rem 0; color: #555; } pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .8rem 0 0; }
code { overflow-wrap: anywhere; } form { display: inline; } button { font: inherit; margin: .6rem .4rem 0 0; padding: .2rem .8rem;
border: 1px solid #888; border-radius: 4px; background: #fff; cursor: pointer; } button:hover, button:focus { background: #eee; }
"""
_SECTION = "<section>\n<h2>{name}</h2>\n{articles}\n</section>"
_STORES = """
    select t.* from tenants t join (select tenant_id, max(created_at) as latest from {rows} group by tenant_id) r on r.tenant_id = t.id
    where $2 in ('', t.public_id::text)
    order by r.latest desc limit $1
"""


def is_local(request: web.Request) -> bool:
    """Return whether the host is a name of this machine: others may be those of a DNS rebinding."""
    name = parse_host(request.headers.get(hdrs.HOST))
    return name is not None and (name in _LOCAL or name.endswith(".localhost"))


async def stores_with_newest(rows: str, public_id: str) -> Sequence[Store]:
    """Return the stores with the newest of these rows (a table, with its condition), or the one with this id that has any."""
    async with database.cross_store_connection() as everywhere:
        return [
            build_store(record) for record in await everywhere.fetch(_STORES.format(rows=rows), MAX_STORES, public_id)
        ]


def page_response(
    title: str, introduction: str, stores: Sequence[tuple[Store, Sequence[str]]], *, form: str = "'none'"
) -> web.Response:
    """Return the page with a section of articles for each store that has any; `form` is where forms go."""
    sections = [
        _SECTION.format(name=escape(store.name), articles="\n".join(articles)) for store, articles in stores if articles
    ]
    body = "\n".join([f"<h1>{title}</h1>\n<p>{introduction}</p>", *(sections or ["<p>None yet.</p>"])])
    headers = page_headers(cache="no-store", form=form, style=style_source(_STYLE), img="data:")
    return web.Response(
        text=html_page(f"Vitrine · {title}", f"<style>{_STYLE}</style>", body),
        content_type="text/html",
        charset="utf-8",
        headers={**headers, "Cross-Origin-Resource-Policy": "same-origin"},
    )
