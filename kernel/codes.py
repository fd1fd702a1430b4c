"""One-letter codes of every entity, and their parsing from client input (docs/reference/shared.md#statuses).

A table maps each code to its labels, in the order in which messages list the codes; the first label is its name. Output
always uses the code; input accepts the code or a label, in either case.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from kernel.text import InvalidValue, repr_value

_CUSTOM_CODE = re.compile(r"[A-Z]")


@dataclass(frozen=True, eq=False)
class CodeTable:
    """The codes that one field accepts; `field` is its name in messages."""

    field: str
    labels: Mapping[str, tuple[str, ...]]

    @cached_property
    def codes(self) -> tuple[str, ...]:
        """Return the codes in the table's order."""
        return tuple(self.labels)

    @cached_property
    def by_label(self) -> dict[str, str]:
        """Map every accepted word, in lower case, to its code."""
        words = {label: code for code, labels in self.labels.items() for label in labels}
        return words | {code.lower(): code for code in self.labels}

    def name(self, code: str) -> str:
        """Return the long name of a code of this table."""
        labels = self.labels[code]
        return labels[0] if labels else code


def parse_code(value: object, table: CodeTable) -> str:
    """Parse a code or label, in either case, with `_` or a space; raise InvalidValue with the field and its codes for the rest."""
    # Outside ASCII, changing the case can produce an ASCII letter: the long s would match S.
    if isinstance(value, str) and value.isascii():
        code = table.by_label.get(value.lower().replace(" ", "_"))
        if code is not None:
            return code
    raise InvalidValue(f"{table.field} is {repr_value(value)}; expected one of {', '.join(table.codes)}")


def with_codes(table: CodeTable, added: Iterable[str]) -> CodeTable:
    """Return the table with a store's custom codes (legacy `statuses`) added; raise ValueError for one that isn't a capital A-Z."""
    labels = dict(table.labels)
    for code in added:
        if not _CUSTOM_CODE.fullmatch(code):
            raise ValueError(f"the letter is {repr_value(code)}; expected one capital A to Z")
        labels.setdefault(code, ())
    return CodeTable(table.field, labels)


def order_statuses(added: Iterable[str]) -> CodeTable:
    """Return the order statuses of a store that added these."""
    return with_codes(ORDER_STATUSES, added) if added else ORDER_STATUSES


def shipment_statuses(added: Iterable[str]) -> CodeTable:
    """Return the shipment statuses of a store that added these."""
    return with_codes(SHIPMENT_STATUSES, added) if added else SHIPMENT_STATUSES


def _table(field: str, **labels: str) -> CodeTable:
    return CodeTable(field, {code: tuple(words.split()) for code, words in labels.items()})


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
# subscribers, warehouses and their areas and groups, boxes, and the B2B entities.
SWITCH_STATUSES = _table("status", A=_ACTIVE, D=_DISABLED)
PAYMENT_STATUSES = PAGE_STATUSES = WAREHOUSE_STATUSES = SWITCH_STATUSES

MEMBERSHIP_STATUSES = _table("status", A=_ACTIVE, F="available", P="pending", D="declined disabled")
SHIPMENT_STATUSES = _table("status", P="picked_up", A="packed", S="shipped")
CALL_REQUEST_STATUSES = _table("status", N="new", I="in_progress", C="completed", F="no_answer")

USER_TYPES = _table("user_type", A="admin administrator", V="vendor", C="customer")
ROLE_NAMES: Mapping[str, str] = {code: USER_TYPES.name(code) for code in USER_TYPES.codes}
"""The names of the user types as roles of an account."""
FEATURE_TYPES = _table(
    "feature_type",
    S="select",
    M="checkboxes",
    T="text",
    N="number",
    O="plain_number",
    D="date",
    C="checkbox",
    E="extended",
    B="brand",
    A="author",
    G="group",
)
OPTION_TYPES = _table("option_type", S="selectbox", R="radio", C="checkbox", I="input", T="textarea", F="file")
EXCEPTION_TYPES = _table("type", F="forbidden", A="allowed")
PAGE_TYPES = _table("page_type", T="text", L="link", F="form", B="blog")
MODIFIER_TYPES = _table("modifier_type", A="absolute", P="percentage")
COMMISSION_TYPES = _table("commission_type", A="absolute", P="percentage")
ALLOCATION_TYPES = _table("allocation_type", P="priority", E="exclusive")
RATE_CALCULATION_TYPES = _table("rate_calculation", M="manual", R="realtime")
TAX_ADDRESS_TYPES = _table("address_type", S="shipping", B="billing")
TAX_RATE_TYPES = _table("rate_type", P="percentage", F="fixed")
STATUS_TYPES = _table("type", O="order", S="shipment")
ADDRESS_TYPES = _table("type", S="shipping", B="billing")
INVENTORY_EFFECTS = _table("inventory", D="deduct", I="give_back")
USERGROUP_TYPES = _table("type", A="admin administrator", C="customer")
DISCUSSION_OBJECT_TYPES = _table("object_type", P="product", C="category", A="page", O="order", E="testimonials")
DISCUSSION_TYPES = _table("type", C="comment", R="rating", B="both")
TRANSACTION_TYPES = _table("type", C="credit", D="debit")

# Words, which are stored as they are shown.
PAYOUT_STATUSES = ("pending", "paid", "cancelled")
LEDGER_ENTRY_KINDS = (
    "sale", "commission", "shipping", "discount", "surcharge", "tax", "unapplied", "refund", "commission_refund", "adjustment", "payout",
)  # fmt: skip
