"""Write the parts of mails about orders: lines, amounts, address, payment, tracking. Pure; each part is a paragraph or a block, or empty.

A line of a block is indented by four spaces; two spaces or more separate its columns (`domain.mails.html`). What a customer wrote contains
no link (`domain.mails.texts`): anybody can order with another person's e-mail.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from domain.mails.texts import one_line, printable_text
from kernel.geography import BRAZIL
from kernel.money import format_price

# Longer texts of a first column aren't aligned.
_MAX_WIDTH = 48
_TAG = re.compile(r"<[^>]{0,1000}>")
_CORREIOS_CODE = re.compile(r"[A-Z]{2}[0-9]{9}[A-Z]{2}")
_CORREIOS_PAGE = "https://rastreamento.correios.com.br/app/index.php?objetos={code}"


@dataclass(frozen=True, slots=True)
class MailedLine:
    """Units of a product with the chosen options `{name, value}`; `total_cents` is None where no price is shown."""

    name: str
    quantity: int
    options: Sequence[Mapping[str, Any]] = ()
    total_cents: int | None = None


def block(text: str) -> str:
    """Return the lines of a text as a block."""
    return "\n".join(f"    {line.strip()}" for line in text.splitlines() if line.strip())


def rows(columns: Iterable[tuple[str, str]]) -> str:
    """Return a block of two columns."""
    pairs = [(one_line(label), text) for label, text in columns]
    width = max((len(label) for label, _ in pairs if len(label) <= _MAX_WIDTH), default=0)
    return "\n".join(f"    {label.ljust(width)}  {text}".rstrip() for label, text in pairs)


def write_lines(lines: Iterable[MailedLine], currency: str) -> str:
    """Return the lines of an order or of a shipment."""
    return rows(
        (_line_label(line), "" if line.total_cents is None else format_price(line.total_cents, currency))
        for line in lines
    )


def _line_label(line: MailedLine) -> str:
    options = ", ".join(f"{option['name']}: {printable_text(str(option['value']))}" for option in line.options)
    return f"{line.quantity} × {line.name} ({options})" if options else f"{line.quantity} × {line.name}"


_AMOUNTS = (
    ("Produtos", "subtotal_cents", 1),
    ("Desconto", "discount_cents", -1),
    ("Entrega", "shipping_cents", 1),
    ("Acréscimo", "surcharge_cents", 1),
    ("Impostos", "tax_cents", 1),
)


def write_totals(order: Mapping[str, Any]) -> str:
    """Return the amounts of an order, those that are zero left out."""
    currency = order["currency"]
    amounts = [(label, format_price(sign * order[name], currency)) for label, name, sign in _AMOUNTS if order[name]]
    return rows([*amounts, ("Total", format_price(order["total_cents"], currency))])


def write_payment(name: str, instructions: str, *, is_due: bool) -> str:
    """Return how to pay an order, or how it was paid."""
    if not is_due:
        return f"Pagamento: {one_line(name)}, já confirmado." if name else ""
    if not name:
        return ""
    text = block(html.unescape(_TAG.sub("\n", instructions)))
    return f"Como pagar: {one_line(name)}.\n\n{text}"


def write_delivery(address: Mapping[str, str] | None, method: str, delivery_time: str) -> str:
    """Return how and where an order is delivered."""
    how = ", ".join(one_line(text) for text in (method, delivery_time) if text)
    heading = f"Entrega: {how}." if how else ""
    where = "" if address is None else block("\n".join(_address_lines(address)))
    return "\n\n".join(part for part in (heading or ("Entrega:" if where else ""), where) if part)


def _address_lines(address: Mapping[str, str]) -> list[str]:
    part = {name: printable_text(str(text or "")) for name, text in address.items()}
    country = part.get("country", BRAZIL)
    city = " - ".join(text for text in (part.get("city", ""), part.get("state", "")) if text)
    street = ", ".join(part[name] for name in ("street", "number", "complement") if part.get(name))
    zipcode = f"CEP {part['zipcode']}" if part.get("zipcode") and country == BRAZIL else part.get("zipcode", "")
    names = f"{part.get('firstname', '')} {part.get('lastname', '')}".strip()
    lines = [names, street, part.get("district", ""), city, zipcode, "" if country == BRAZIL else country]
    return [line for line in lines if line]


def write_tracking(carrier: str, code: str, page: str) -> str:
    """Return carrier, tracking code and link of a shipment; `page` is the address of tracking pages with `{code}`, if the store has one."""
    named = [("Transportadora", one_line(carrier)), ("Código de rastreio", one_line(code))]
    parts = [rows(pair for pair in named if pair[1])]
    page = page or (_CORREIOS_PAGE if _CORREIOS_CODE.fullmatch(code.strip().upper()) else "")
    if page and code:
        parts.append(f"Rastreie a entrega aqui:\n\n    {page.replace('{code}', quote(code.strip(), safe=''))}")
    return "\n\n".join(part for part in parts if part)
