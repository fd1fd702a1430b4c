"""What the stores must contain: the soak's own account of products, orders and events, and the comparison with Vitrine's.

Only the soak changes these stores and it repeats every write until it knows the outcome, so the account is exact.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

# A store's marker is part of every name and e-mail in it.
MARKER = re.compile(r"soak-[0-9a-f]{8}")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
# Statuses in which an order holds its units: docs/reference/shared.md#stock.
_HOLDING = frozenset("OBPC")
# Names of all events of the two subjects: their sequences have no gaps.
ORDER_EVENTS = ("order.created", "order.updated", "order.cancelled")
PRODUCT_EVENTS = ("product.created", "product.updated", "product.deleted")


class Findings:
    """The wrong answers of a run, in the order in which they were found."""

    _SHOWN = 40

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.lines: list[str] = []

    def add(self, kind: str, text: str) -> None:
        """Record a wrong answer of a kind; the text says what was expected and what was found."""
        self.counts[kind] += 1
        if len(self.lines) < self._SHOWN:
            self.lines.append(f"{kind}: {text[:400]}")

    def __len__(self) -> int:
        return self.counts.total()


@dataclass(eq=False)
class Product:
    """A product on sale; `initial_stock` is what it was created with, prices are in cents."""

    id: str
    name: str
    price_cents: int
    initial_stock: int
    number: str = ""
    taken: int = 0
    """Units of orders that hold them, and of orders under way."""
    buyers: list[Purchase] = field(default_factory=list)
    """The orders under way."""

    def take(self, quantity: int) -> None:
        """Count units of an order, or give them back with a negative quantity."""
        self.taken += quantity
        for purchase in self.buyers:
            purchase.peaks[self.id] = max(purchase.peaks.get(self.id, 0), self.taken)


@dataclass(frozen=True)
class Line:
    """One product of a purchase."""

    product: Product
    quantity: int


@dataclass(eq=False)
class Purchase:
    """An order that a client means to place once; its e-mail address occurs in no other. `status` is None until it is placed."""

    email: str
    lines: tuple[Line, ...]
    shipping_cents: int
    status: str | None = None
    is_refused: bool = False
    id: str = ""
    number: str = ""
    peaks: dict[str, int] = field(default_factory=dict)
    """The most units of each product that were taken while the order was under way."""

    @property
    def total_cents(self) -> int:
        """Return the total the server must calculate."""
        return sum(line.product.price_cents * line.quantity for line in self.lines) + self.shipping_cents


@dataclass(frozen=True)
class OrderView:
    """An order as one family shows it; the names of products stand for their ids."""

    email: str
    status: str
    total_cents: int
    items: tuple[tuple[str, int, int], ...]
    """Product name, quantity, price in cents; sorted."""
    id: str = ""
    number: str = ""


@dataclass(eq=False)
class StoreModel:
    """The account of one store."""

    marker: str
    tenant_id: str
    shipping_cents: int = 0
    products: list[Product] = field(default_factory=list)
    purchases: dict[str, Purchase] = field(default_factory=dict)
    idle: deque[Purchase] = field(default_factory=deque)
    """Placed orders that no client is working on: who takes one is its only reader and writer."""
    expected_events: set[tuple[str, str]] = field(default_factory=set)
    received_events: Counter[tuple[str, str]] = field(default_factory=Counter)
    pictures: dict[str, bytes] = field(default_factory=dict)
    """The contents of uploads that were completed, by path."""
    sequences: dict[str, set[int]] = field(default_factory=dict)
    """Sequences received per subject."""

    def begin_purchase(self, lines: Sequence[Line]) -> Purchase:
        """Record an order before it is sent."""
        email = f"{self.marker}-{len(self.purchases)}@example.com"
        purchase = self.purchases[email] = Purchase(email, tuple(lines), self.shipping_cents)
        for line in lines:
            line.product.buyers.append(purchase)
            line.product.take(line.quantity)
        return purchase

    def place(self, purchase: Purchase, status: str = "O") -> None:
        """Record that an order was placed; its id must be known."""
        purchase.status = status
        for line in purchase.lines:
            line.product.buyers.remove(purchase)
        self.expected_events.add(("order.created", purchase.id))
        self.idle.append(purchase)

    def refuse(self, purchase: Purchase) -> None:
        """Record that an order was refused."""
        purchase.is_refused = True
        for line in purchase.lines:
            line.product.buyers.remove(purchase)
            line.product.take(-line.quantity)

    def change_status(self, purchase: Purchase, status: str) -> None:
        """Record a change of status; cancelling a processed or open order returns its units."""
        purchase.status = status
        self.expected_events.add(("order.updated", purchase.id))
        if status == "I":
            self.expected_events.add(("order.cancelled", purchase.id))
        if status not in _HOLDING:
            for line in purchase.lines:
                line.product.take(-line.quantity)

    def receive_event(self, name: str, subject: str, sequence: int) -> None:
        """Record a webhook delivery whose signature is valid."""
        self.received_events[name, subject] += 1
        if name in ORDER_EVENTS or name in PRODUCT_EVENTS:
            self.sequences.setdefault(subject, set()).add(sequence)

    def missing_events(self) -> set[tuple[str, str]]:
        """Return the expected events that no delivery has brought yet."""
        return self.expected_events - self.received_events.keys()

    def incomplete_sequences(self) -> dict[str, list[int]]:
        """Return, per subject, the sequences that are missing below the highest received one."""
        gaps = {
            subject: sorted(set(range(1, max(received) + 1)) - received) for subject, received in self.sequences.items()
        }
        return {subject: missing for subject, missing in gaps.items() if missing}


class World:
    """All stores, and which of them each id and marker belongs to."""

    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        self.stores: list[StoreModel] = []
        self._owners: dict[str, StoreModel] = {}

    def add(self, store: StoreModel) -> None:
        """Add a store."""
        self.stores.append(store)
        self._owners[store.marker] = self._owners[store.tenant_id] = store

    def own(self, store: StoreModel, *ids: str) -> None:
        """Record the public ids of records of a store."""
        for each in ids:
            self._owners[each] = store

    def check_isolation(self, store: StoreModel, text: str, *, asked: str = "", about: str = "") -> None:
        """Report a marker or id of another store in a text that `store` received; `asked` was in the request."""
        for match in {*MARKER.findall(text), *_UUID.findall(text)}:
            owner = self._owners.get(match)
            if owner is not None and owner is not store and match not in asked:
                self.findings.add("isolation", f"{about} {store.marker} received {match} of {owner.marker}")


# --- Comparisons -----------------------------------------------------------------------------------------------------------


def check_order(findings: Findings, purchase: Purchase, view: OrderView, about: str) -> None:
    """Report every difference between an order and its purchase."""
    expected = OrderView(
        purchase.email,
        purchase.status or "",
        purchase.total_cents,
        tuple(sorted((line.product.name, line.quantity, line.product.price_cents) for line in purchase.lines)),
    )
    for name in ("email", "status", "total_cents", "items"):
        shown, wanted = getattr(view, name), getattr(expected, name)
        if shown != wanted:
            findings.add("order", f"{about} {purchase.email}: {name} is {shown!r}, expected {wanted!r}")


def check_orders(findings: Findings, store: StoreModel, views: Iterable[OrderView]) -> None:
    """Compare all orders of a store with the purchases: each placed one exactly once, numbers unique, none unknown."""
    listed = list(views)
    for value, count in Counter(view.number for view in listed).items():
        if count > 1:
            findings.add("order number", f"{store.marker}: {count} orders have the number {value}")
    by_email = Counter(view.email for view in listed)
    for email, count in by_email.items():
        purchase = store.purchases.get(email)
        if purchase is None or purchase.is_refused:
            findings.add("order", f"{email} has an order that was {'refused' if purchase else 'never placed'}")
        elif count > 1:
            findings.add("order", f"{email} has {count} orders, expected one")
    for view in listed:
        purchase = store.purchases.get(view.email)
        if purchase is not None and purchase.status is not None:
            check_order(findings, purchase, view, "at the end")
    for purchase in store.purchases.values():
        if purchase.status is not None and purchase.email not in by_email:
            findings.add("order", f"{purchase.email} was placed and is gone")


def check_refusal(findings: Findings, purchase: Purchase) -> None:
    """Report a refusal for want of stock when every product had enough all along."""
    # The peaks contain this purchase's own units.
    if all(purchase.peaks[line.product.id] <= line.product.initial_stock for line in purchase.lines):
        findings.add("stock", f"{purchase.email} was refused as out of stock although everything was in stock")


def check_stock(findings: Findings, store: StoreModel, stock: Mapping[str, int], *, is_quiet: bool) -> None:
    """Compare the stock of products by id: exactly when no request is under way, else only with its bounds."""
    for product in store.products:
        shown = stock.get(product.id)
        if shown is None:
            continue
        if is_quiet:
            expected = product.initial_stock - product.taken
            if shown != expected:
                findings.add("stock", f"{product.name}: {shown} are in stock, expected {expected}")
        elif not 0 <= shown <= product.initial_stock:
            findings.add("stock", f"{product.name}: {shown} are in stock of {product.initial_stock}")


def check_events(findings: Findings, store: StoreModel) -> None:
    """Report events that no delivery brought, and gaps in the sequences of orders and products."""
    for name, subject in sorted(store.missing_events()):
        findings.add("event", f"{store.marker}: {name} of {subject} was never delivered")
    for subject, missing in store.incomplete_sequences().items():
        findings.add("event", f"{store.marker}: sequences {missing[:5]} of {subject} were never delivered")
