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
class CodeTable:
    """Describe the letters one field may hold; `field` is its name in messages."""

    field: str
    labels: Mapping[str, tuple[str, ...]]

    @cached_property
    def codes(self) -> tuple[str, ...]:
        """List the letters in the table's order."""
        return tuple(self.labels)

    @cached_property
    def by_word(self) -> dict[str, str]:
        """Map every accepted word, in lower case, to its letter."""
        words = {label: parse_code for parse_code, labels in self.labels.items() for label in labels}
        return words | {parse_code.lower(): parse_code for parse_code in self.labels}

    def name(self, parse_code: str) -> str:
        """Give the long name of one of the table's letters."""
        labels = self.labels[parse_code]
        return labels[0] if labels else parse_code


def parse_code(value: object, table: CodeTable) -> str:
    """Read a letter or a long label, in either case; Malformed, naming the field and the letters allowed, for the rest."""
    # Beyond ASCII, changing the case can make a plain letter: the long s would pass for S.
    if isinstance(value, str) and value.isascii():
        found = table.by_word.get(value.lower())
        if found is not None:
            return found
    raise Malformed(f"{table.field} is {shown(value)}; expected one of {', '.join(table.codes)}")


def with_codes(table: CodeTable, added: Iterable[str]) -> CodeTable:
    """Add the capitals that a store defined itself (legacy `statuses`); ValueError for what is not one capital A-Z."""
    labels = dict(table.labels)
    for new in added:
        if not _FREE_LETTER.fullmatch(new):
            raise ValueError(f"the letter is {shown(new)}; expected one capital A to Z")
        labels.setdefault(new, ())
    return CodeTable(table.field, labels)


def order_statuses(added: Iterable[str]) -> CodeTable:
    """Give the letters of orders in a store that added these."""
    return with_codes(ORDER_STATUSES, added) if added else ORDER_STATUSES


def shipment_statuses(added: Iterable[str]) -> CodeTable:
    """Give the letters of parcels in a store that added these."""
    return with_codes(SHIPMENT_STATUSES, added) if added else SHIPMENT_STATUSES


def _table(field: str, **labels: str) -> CodeTable:
    return CodeTable(field, {parse_code: tuple(words.split()) for parse_code, words in labels.items()})


_ACTIVE = "active enabled"
_DISABLED = "disabled inactive"

PRODUCT_STATUSES = _table("status", A=_ACTIVE, D=_DISABLED, H="hidden", P="pending")
ORDER_STATUSES = _table(
    "status",
    O="open pending created",
    P="processed paid processing approved",
    C="complete completed delivered shipped",
    D="declined",
    F="failed",
    I="cancelled canceled",
    B="backordered",
)
USER_STATUSES = _table("status", A=_ACTIVE, D=_DISABLED, P="pending")
VENDOR_STATUSES = _table("status", A=_ACTIVE, D=_DISABLED, P="pending", N="new")
CATEGORY_STATUSES = _table("status", A=_ACTIVE, D=_DISABLED, H="hidden")

# Features, options, payments, shippings, taxes, pages, blocks, languages, promotions, usergroups, destinations, discussions,
# subscribers, warehouses and their areas and groups, boxes, and the B2B entities are on or off.
SWITCH_STATUSES = _table("status", A=_ACTIVE, D=_DISABLED)
PAYMENT_STATUSES = PAGE_STATUSES = WAREHOUSE_STATUSES = REVIEW_STATUSES = SWITCH_STATUSES

MEMBERSHIP_STATUSES = _table("status", A=_ACTIVE, F="available", P="pending", D="declined disabled")
SHIPMENT_STATUSES = _table("status", P="picked_up", A="packed", S="shipped")
CALL_REQUEST_STATUSES = _table("status", N="new", I="in_progress", C="completed", F="no_answer")

USER_TYPES = _table("user_type", A="admin administrator", V="vendor", C="customer")
FEATURE_TYPES = _table(
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
OPTION_TYPES = _table(
    "option_type", S="selectbox", R="radio", C="checkbox", I="input", T="textarea", F="file"
)
EXCEPTION_TYPES = _table("type", F="forbidden", A="allowed")
PAGE_TYPES = _table("page_type", T="text", L="link", F="form", B="blog")
MODIFIER_TYPES = _table("modifier_type", A="absolute", P="percentage")
COMMISSION_TYPES = _table("commission_type", A="absolute", P="percentage")
ALLOCATION_TYPES = _table("allocation_type", P="priority", E="exclusive")
RATE_CALCULATION_TYPES = _table("rate_calculation", M="manual", R="realtime")
TAX_ADDRESS_TYPES = _table("address_type", S="shipping", B="billing")
TAX_RATE_TYPES = _table("rate_type", P="percentage", F="fixed")
STATUS_TYPES = _table("type", O="order", S="shipment")
INVENTORY_EFFECTS = _table("inventory", D="deduct", I="give_back")
USERGROUP_TYPES = _table("type", A="admin administrator", C="customer")
DISCUSSION_OBJECT_TYPES = _table(
    "object_type", P="product", C="category", A="page", O="order", E="testimonials"
)
DISCUSSION_TYPES = _table("type", C="comment", R="rating", B="both")
TRANSACTION_TYPES = _table("type", C="credit", D="debit")
