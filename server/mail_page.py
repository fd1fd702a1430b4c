"""Show unsent emails on a private development server (docs/reference/shared.md#configuration, VITRINE_BIND).

Emails contain tokens that open accounts: the page is mounted nowhere else, and answers only to local host names (against DNS rebinding).
"""

from __future__ import annotations

from html import escape

from aiohttp import web

from domain.mails import outbox
from domain.mails.outbox import StoredMail
from kernel.clock import format_rfc3339
from kernel.errors import NotFound
from kernel.scope import Store, active_scope
from server.development_pages import is_local, page_response, stores_with_newest
from server.operations.store_admin import system_scope

PATH = "/dev/mails"
MAX_MAILS = 50

_STATUS_NAMES = {"Q": "not sent", "S": "sent", "F": "failed"}
_INTRODUCTION = "Emails this development server would have sent, newest first."
_MAIL = """<article>
<h3>{subject}</h3>
<p>to {recipient} · {created_at} · {state}</p>
<pre>{body}</pre>
</article>"""

_WITH_RECIPIENT = "mails where status <> 'N'"


async def mail_page(request: web.Request) -> web.Response:
    """Render `GET /dev/mails`; `?store=<UUID>` selects one store."""
    if not is_local(request):
        raise NotFound("page")
    stores = await stores_with_newest(_WITH_RECIPIENT, request.query.get("store", ""))
    mails = [(store, [_article(mail) for mail in await _mails_of(store)]) for store in stores]
    return page_response("Mails", _INTRODUCTION, mails)


def add_routes(app: web.Application) -> None:
    """Add the route; only for a private development server."""
    app.router.add_get(PATH, mail_page)


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
