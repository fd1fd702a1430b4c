"""The data of the demo stores: catalogs with their types, and what all stores have.

Fields have the names of the input's; `key` names a record in the catalog.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class DemoVendor:
    """A vendor of the marketplace; the CNPJ is stored without check digits."""

    key: str
    name: str
    email: str
    cnpj: str
    phone: str
    address: str
    city: str
    state: str
    zipcode: str
    commission: str


@dataclass(frozen=True, slots=True)
class DemoCategory:
    """A product category; `text` ends the description of each of its products."""

    key: str
    name: str
    text: str
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class DemoFeature:
    """A product feature; `type` is the code of the legacy API."""

    key: str
    name: str
    type: str
    variants: Sequence[str] = ()
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class DemoProduct:
    """A product; prices in cents, weights in grams, features by key. `sells` is False for products in no demo order.

    `size` is length, width and height in millimetres as it is packed; none of a download.
    """

    name: str
    category: str
    vendor: str
    price: int
    stock: int
    weight: int
    text: str
    features: Mapping[str, str] = field(default_factory=dict)
    compare_at: int | None = None
    status: str = "A"
    images: int = 1
    size: Sequence[int] = (0, 0, 0)
    free_shipping: bool = False
    download: bool = False
    sells: bool = True
    tags: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class DemoCollection:
    """A collection of products, by name and in order; it has the picture of the first."""

    name: str
    text: str
    products: Sequence[str]


def input_fields(record: DemoVendor | DemoPaymentMethod | DemoShippingMethod) -> dict[str, Any]:
    """Return the fields of the input that creates a record."""
    return {name: value for name, value in asdict(record).items() if name != "key"}


@dataclass(frozen=True, slots=True)
class DemoPaymentMethod:
    """A payment method; `processor` charged the past orders, the sandbox takes payments of this `kind` since."""

    key: str
    name: str
    description: str
    processor: str
    kind: str
    settles_at_once: bool = False
    hold_minutes: int = 4_320
    surcharge_cents: int = 0
    instructions: str = ""


@dataclass(frozen=True, slots=True)
class DemoShippingMethod:
    """A shipping method; prices in cents, weights in grams."""

    key: str
    name: str
    delivery_time: str
    base_cents: int
    per_kg_cents: int = 0
    free_from_cents: int | None = None
    max_weight_grams: int = 0


@dataclass(frozen=True, slots=True)
class DemoCatalog:
    """The data of a demo store, with the number of customers and of orders per status code; `name` is that of its file."""

    name: str
    vendors: tuple[DemoVendor, ...]
    categories: tuple[DemoCategory, ...]
    features: tuple[DemoFeature, ...]
    products: tuple[DemoProduct, ...]
    payments: tuple[DemoPaymentMethod, ...]
    shippings: tuple[DemoShippingMethod, ...]
    collections: tuple[DemoCollection, ...]
    customers: int
    orders: Mapping[str, int]
    reviews: int
    options: Sequence[Mapping[str, Any]] = ()
    inventory_options: Sequence[Mapping[str, Any]] = ()
    attachments: Sequence[Mapping[str, Any]] = ()
    required_products: Mapping[str, Sequence[str]] = field(default_factory=dict)
    boxes: Sequence[Mapping[str, Any]] = ()


def _read_file(name: str) -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text(encoding="utf-8"))


COMMON: Mapping[str, Any] = _read_file("common")
"""What every demo store has besides its catalog."""


def load_catalog(name: str) -> DemoCatalog:
    """Read the catalog of a demo store from its file, `casa_ipe.toml` or `serra_alta.toml`."""
    data = _read_file(name)
    return DemoCatalog(
        name=name, **data | {key: tuple(record(**each) for each in data[key]) for key, record in _RECORDS.items()}
    )


_RECORDS: Mapping[str, Callable[..., Any]] = {
    "vendors": DemoVendor,
    "categories": DemoCategory,
    "features": DemoFeature,
    "products": DemoProduct,
    "payments": DemoPaymentMethod,
    "shippings": DemoShippingMethod,
    "collections": DemoCollection,
}
