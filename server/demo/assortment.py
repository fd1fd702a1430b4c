"""Describe what a demo shop sells and how it is paid and delivered, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class DemoVendor:
    """A seller of the marketplace; the CNPJ is given without its check digits."""

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
    """A place in the catalogue; `text` closes the description of every product in it."""

    key: str
    name: str
    text: str
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class DemoFeature:
    """A property that products have; `type` is the letter of the legacy layer."""

    key: str
    name: str
    type: str
    variants: tuple[str, ...] = ()
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class DemoProduct:
    """Something to buy; prices in cents, weights in grams, features by key. `sells` is False for what no demo order holds."""

    name: str
    category: str
    vendor: str
    price: int
    stock: int
    weight: int
    text: str
    features: Mapping[str, str] = field(default_factory=dict)
    before: int | None = None
    status: str = "A"
    pictures: int = 2
    free_shipping: bool = False
    download: bool = False
    sells: bool = True


@dataclass(frozen=True, slots=True)
class PaymentWay:
    """A way to pay."""

    key: str
    name: str
    text: str
    processor: str
    settles_at_once: bool = False
    hold_minutes: int = 4_320
    surcharge_cents: int = 0
    instructions: str = ""


@dataclass(frozen=True, slots=True)
class ShippingWay:
    """A way to deliver; prices in cents, weights in grams."""

    key: str
    name: str
    time: str
    base: int
    per_kg: int = 0
    free_from: int | None = None
    heaviest: int = 0


@dataclass(frozen=True, slots=True)
class DemoCatalog:
    """All that a demo store offers, how many customers it has, and how many orders of each status letter."""

    colour: str
    vendors: tuple[DemoVendor, ...]
    categories: tuple[DemoCategory, ...]
    features: tuple[DemoFeature, ...]
    products: tuple[DemoProduct, ...]
    payments: tuple[PaymentWay, ...]
    shippings: tuple[ShippingWay, ...]
    customers: int
    orders: Mapping[str, int]
    reviews: int


CARD = PaymentWay(
    "cartao",
    "Cartão de crédito",
    "Em até 6 vezes sem juros.",
    "credit_card",
    settles_at_once=True,
    hold_minutes=60,
)
PIX = PaymentWay(
    "pix",
    "Pix",
    "Aprovado em segundos, a qualquer hora.",
    "pix",
    hold_minutes=60,
    instructions="<p>Abra o aplicativo do seu banco, escolha Pix e leia o código.</p>",
)
BOLETO = PaymentWay(
    "boleto",
    "Boleto bancário",
    "Vence em três dias; a compensação leva um dia útil.",
    "boleto",
    surcharge_cents=250,
)
