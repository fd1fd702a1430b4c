"""Hold the one-letter codes of every entity and read them from what clients send.

A table maps each letter to its long labels, in the order in which messages list the letters; the first label is its name. Answers
always show the letter; input takes the letter or a label, in either case (legacy contract, Conventions 3; decisions section 1,
Status letters).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from kernel.text import Malformed as Malformed
from kernel.text import shown

_FREE_LETTER = re.compile(r"[A-Z]")


@dataclass(frozen=True, eq=False)
class LetterTable:
    """Describe the letters one field may hold; `field` is its name in messages."""

    field: str
    labels: Mapping[str, tuple[str, ...]]

    @cached_property
    def letters(self) -> tuple[str, ...]:
        """List the letters in the table's order."""
        return tuple(self.labels)

    @cached_property
    def by_word(self) -> dict[str, str]:
        """Map every accepted word, in lower case, to its letter."""
        words = {label: letter for letter, labels in self.labels.items() for label in labels}
        return words | {letter.lower(): letter for letter in self.labels}

    def name(self, letter: str) -> str:
        """Give the long name of one of the table's letters."""
        labels = self.labels[letter]
        return labels[0] if labels else letter


def letter(value: object, table: LetterTable) -> str:
    """Read a letter or a long label, in either case; Malformed, naming the field and the letters allowed, for the rest."""
    # Beyond ASCII, changing the case can make a plain letter: the long s would pass for S.
    if isinstance(value, str) and value.isascii():
        found = table.by_word.get(value.lower())
        if found is not None:
            return found
    raise Malformed(f"{table.field} is {shown(value)}; expected one of {', '.join(table.letters)}")


def with_letters(table: LetterTable, added: Iterable[str]) -> LetterTable:
    """Add the capitals that a store defined itself (legacy `statuses`); ValueError for what is not one capital A-Z."""
    labels = dict(table.labels)
    for new in added:
        if not _FREE_LETTER.fullmatch(new):
            raise ValueError(f"the letter is {shown(new)}; expected one capital A to Z")
        labels.setdefault(new, ())
    return LetterTable(table.field, labels)


def order_letters(added: Iterable[str]) -> LetterTable:
    """Give the letters of orders in a store that added these."""
    return with_letters(ORDER_LETTERS, added) if added else ORDER_LETTERS


def shipment_letters(added: Iterable[str]) -> LetterTable:
    """Give the letters of parcels in a store that added these."""
    return with_letters(SHIPMENT_LETTERS, added) if added else SHIPMENT_LETTERS


def _table(field: str, **labels: str) -> LetterTable:
    return LetterTable(field, {letter: tuple(words.split()) for letter, words in labels.items()})


_ACTIVE = "active enabled"
_DISABLED = "disabled inactive"

PRODUCT_LETTERS = _table("status", A=_ACTIVE, D=_DISABLED, H="hidden", P="pending")
ORDER_LETTERS = _table(
    "status",
    O="open pending created",
    P="processed paid processing approved",
    C="complete completed delivered shipped",
    D="declined",
    F="failed",
    I="cancelled canceled",
    B="backordered",
)
USER_LETTERS = _table("status", A=_ACTIVE, D=_DISABLED, P="pending")
VENDOR_LETTERS = _table("status", A=_ACTIVE, D=_DISABLED, P="pending", N="new")
CATEGORY_LETTERS = _table("status", A=_ACTIVE, D=_DISABLED, H="hidden")

# Features, options, payments, shippings, taxes, pages, blocks, languages, promotions, usergroups, destinations, discussions,
# subscribers, warehouses and their areas and groups, boxes, and the B2B entities are on or off.
SWITCH_LETTERS = _table("status", A=_ACTIVE, D=_DISABLED)
PAYMENT_LETTERS = PAGE_LETTERS = WAREHOUSE_LETTERS = REVIEW_LETTERS = SWITCH_LETTERS

MEMBERSHIP_LETTERS = _table("status", A=_ACTIVE, F="available", P="pending", D="declined disabled")
SHIPMENT_LETTERS = _table("status", P="picked_up", A="packed", S="shipped")
CALL_REQUEST_LETTERS = _table("status", N="new", I="in_progress", C="completed", F="no_answer")

USER_TYPE_LETTERS = _table("user_type", A="admin administrator", V="vendor", C="customer")
FEATURE_TYPE_LETTERS = _table(
    "feature_type",
    S="select",
    T="text",
    N="number",
    D="date",
    C="checkbox",
    E="extended",
    B="brand",
    A="author",
    G="group",
)
OPTION_TYPE_LETTERS = _table(
    "option_type", S="selectbox", R="radio", C="checkbox", I="input", T="textarea", F="file"
)
EXCEPTION_TYPE_LETTERS = _table("type", F="forbidden", A="allowed")
PAGE_TYPE_LETTERS = _table("page_type", T="text", L="link", F="form", B="blog")
MODIFIER_TYPE_LETTERS = _table("modifier_type", A="absolute", P="percentage")
COMMISSION_TYPE_LETTERS = _table("commission_type", A="absolute", P="percentage")
ALLOCATION_TYPE_LETTERS = _table("allocation_type", P="priority", E="exclusive")
RATE_CALCULATION_LETTERS = _table("rate_calculation", M="manual", R="realtime")
TAX_ADDRESS_LETTERS = _table("address_type", S="shipping", B="billing")
TAX_RATE_LETTERS = _table("rate_type", P="percentage", F="fixed")
STATUS_TYPE_LETTERS = _table("type", O="order", S="shipment")
INVENTORY_LETTERS = _table("inventory", D="deduct", I="give_back")
USERGROUP_TYPE_LETTERS = _table("type", A="admin administrator", C="customer")
DISCUSSION_OBJECT_LETTERS = _table(
    "object_type", P="product", C="category", A="page", O="order", E="testimonials"
)
DISCUSSION_TYPE_LETTERS = _table("type", C="comment", R="rating", B="both")
TRANSACTION_TYPE_LETTERS = _table("type", C="credit", D="debit")
