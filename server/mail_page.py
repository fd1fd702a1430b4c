"""Show unsent emails on a private development server (docs/reference/shared.md#configuration, VITRINE_BIND).

Emails contain tokens that open accounts: the page is mounted nowhere else, answers only to local host names (against DNS rebinding),
and can't be framed, executed as a script or cached.
"""

from __future__ import annotations

from html import escape

from aiohttp import hdrs, web

from auth.store_resolution import build_store, parse_host
from domain.mails import outbox
from domain.mails.outbox import StoredMail
from kernel.clock import format_rfc3339
from kernel.errors import NotFound
from kernel.scope import Store, active_scope
from models.connection import database
from server.http.html_pages import html_page, page_headers, style_source
from server.operations.store_admin import system_scope

PATH = "/dev/mails"
MAX_STORES = 20
MAX_MAILS = 50

_LOCAL = frozenset({"localhost", "127.0.0.1", "[::1]"})
_STATUS_NAMES = {"Q": "not sent", "S": "sent", "F": "failed"}

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; color: #222; background: #fff; }
h2 { margin-top: 2.5rem; } article { border: 1px solid #ccc; border-radius: 6px; padding: .8rem 1rem; margin: 1rem 0; }
h3 { margin: 0; } p { margin: .2rem 0; color: #555; } pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .8rem 0 0; }
"""
HEADERS = {
    **page_headers(cache="no-store", style=style_source(_STYLE), img="data:"),
    "Cross-Origin-Resource-Policy": "same-origin",
}
_INTRODUCTION = "<h1>Mails</h1>\n<p>Emails this development server would have sent, newest first.</p>"
_STORE = "<section>\n<h2>{name}</h2>\n{mails}\n</section>"
_MAIL = """<article>
<h3>{subject}</h3>
<p>to {recipient} · {created_at} · {state}</p>
<pre>{body}</pre>
</article>"""

_STORES = """
    select t.* from tenants t join (select tenant_id, max(created_at) as latest from mails where status <> 'N' group by tenant_id) m
        on m.tenant_id = t.id
    where $2 in ('', t.public_id::text)
    order by m.latest desc limit $1
"""


async def mail_page(request: web.Request) -> web.Response:
    """Render `GET /dev/mails`; `?store=<UUID>` selects one store."""
    name = parse_host(request.headers.get(hdrs.HOST))
    if name is None or not (name in _LOCAL or name.endswith(".localhost")):
        raise NotFound("page")
    sections = [
        _STORE.format(name=escape(store.name), mails="\n".join(_article(mail) for mail in await _mails_of(store)))
        for store in await _stores_with_mails(request.query.get("store", ""))
    ]
    body = "\n".join([_INTRODUCTION, *(sections or ["<p>None yet.</p>"])])
    page = html_page("Vitrine · Mails", f"<style>{_STYLE}</style>", body)
    return web.Response(text=page, content_type="text/html", charset="utf-8", headers=HEADERS)


def add_routes(app: web.Application) -> None:
    """Add the route; only for a private development server."""
    app.router.add_get(PATH, mail_page)


async def _stores_with_mails(public_id: str) -> list[Store]:
    """Return the stores with the newest mails, or the one with this id."""
    async with database.cross_store_connection() as everywhere:
        return [build_store(record) for record in await everywhere.fetch(_STORES, MAX_STORES, public_id)]


async def _mails_of(store: Store) -> list[StoredMail]:
    scope = system_scope(store)
    with active_scope(scope):
        return await outbox.list_latest(scope, limit=MAX_MAILS)


def _article(mail: StoredMail) -> str:
    return _MAIL.format(
        subject=escape(mail.subject),
        recipient=escape(mail.recipient),
        created_at=format_rfc3339(mail.created_at),
        state=_STATUS_NAMES[mail.status],
        body=escape(mail.body),
    )
