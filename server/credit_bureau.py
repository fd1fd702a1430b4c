"""Serve a sandbox credit bureau on a private development server.

It speaks the protocol of `domain.b2b.bureau` over HTTP with made-up data, so that development uses the production code path.
"""

from __future__ import annotations

from aiohttp import web

from domain.b2b.bureau import sandbox_report
from domain.store_settings import SANDBOX_BUREAU
from kernel.documents import is_cnpj, normalize_document
from kernel.errors import ValidationFailed
from rest_facade.bodies import read_json_object
from rest_facade.responses import json_response


async def opinion(request: web.Request) -> web.Response:
    """Answer `POST /dev/credit-bureau` with `{"cnpj": …}`."""
    cnpj = (await read_json_object(request)).get("cnpj")
    if not isinstance(cnpj, str) or not is_cnpj(cnpj):
        raise ValidationFailed("cnpj is not a CNPJ", field="cnpj", code="cnpj_invalid")
    return json_response(sandbox_report(normalize_document(cnpj)))


def add_routes(app: web.Application) -> None:
    """Add the sandbox route; only for a private development server."""
    app.router.add_post(SANDBOX_BUREAU, opinion)
