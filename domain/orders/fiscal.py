"""Keep the fiscal note's data with an order: what a Brazilian ERP sends back once it has issued the note.

Nothing is fetched or parsed: the notes themselves are the ERP's business.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

import orjson

from domain import audit, events
from domain.fields import Given, InputField, read_fields, text
from domain.orders.locked import lock_order
from kernel.documents import chave_nota_from, has_valid_check_digit
from kernel.scope import Scope
from kernel.text import Malformed, shown
from models.database import execute, transaction

# What shows that the check digit of the access key is right or wrong; nobody writes it.
CHECKED = "chave_nota_valid"

_KEEP = """
UPDATE orders SET fields_data = (fields_data - $3::text[]) || $4::text::jsonb, updated_at = $5
WHERE tenant_id = $1 AND id = $2
"""


def _access_key(value: object) -> str | None:
    if value is None:
        return None
    try:
        return chave_nota_from(value)
    except Malformed as error:
        raise Malformed(str(error).removeprefix("chave_nota ")) from error


def _base64(value: object) -> str | None:
    """Read base64 as mail and XML carry it: white space between is no matter. It is kept as it came."""
    if value is None:
        return None
    given = str(text()(value))
    try:
        base64.b64decode("".join(given.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise Malformed(f"is {shown(value)}; expected base64") from error
    return given


def _free(value: object) -> str | None:
    return None if value is None else str(text()(value))


FIELDS: Mapping[str, InputField] = {
    "link_nota": InputField("link_nota", _free),
    "codigo_pedido_erp": InputField("codigo_pedido_erp", _free),
    "chave_nota": InputField("chave_nota", _access_key, code="chave_nota_invalid"),
    "xml_nota": InputField("xml_nota", _free),
    "pdf_nota": InputField("pdf_nota", _free),
    "nota_fiscal": InputField("nota_fiscal", _free),
    "base64_xml": InputField("base64_xml", _base64, code="base64_invalid"),
}


async def set_fiscal_data(scope: Scope, order: object, given: Given) -> int:
    """Keep what is given of a fiscal note among the order's `fields` and give the order's id; null takes a field away.

    An access key (`chave_nota`) with a wrong check digit is kept and marked. Raises NotFound and ValidationFailed.
    """
    told = read_fields(FIELDS, given)
    if told.get("chave_nota") is not None:
        told[CHECKED] = "Y" if has_valid_check_digit(told["chave_nota"]) else "N"
    elif "chave_nota" in told:
        told[CHECKED] = None
    async with transaction(scope):
        held = await lock_order(scope, order)
        if told:
            await _keep(scope, held.id, told)
            await audit.record(
                scope, "order.fiscal_data_set", "order", held.public_id, {"fields": sorted(map(str, given))}
            )
            await events.order_changed(scope, held.id)
    return held.id


async def _keep(scope: Scope, order_id: int, told: Mapping[str, Any]) -> None:
    gone = [name for name, known in told.items() if known is None]
    kept = {name: known for name, known in told.items() if known is not None}
    await execute(_KEEP, scope.store.id, order_id, gone, orjson.dumps(kept).decode(), scope.now)
