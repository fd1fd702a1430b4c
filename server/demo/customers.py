"""The customers of a demo store: deterministic, always in the same order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kernel.text import slugify
from server.demo.catalog import COMMON


@dataclass(frozen=True, slots=True)
class DemoCustomer:
    """A customer."""

    firstname: str
    lastname: str
    email: str
    cpf: str
    phone: str
    street_address: Mapping[str, str]
    number: str

    @property
    def name(self) -> str:
        """Return the full name."""
        return f"{self.firstname} {self.lastname}"

    @property
    def address(self) -> dict[str, str]:
        """Return the address in the form of orders."""
        own = {name: getattr(self, name) for name in ("firstname", "lastname", "number", "phone")}
        of_street = {name: self.street_address[name] for name in ("street", "district", "city", "state", "zipcode")}
        return {**own, **of_street, "country": "BR"}


def create_customers(count: int, domain: str) -> list[DemoCustomer]:
    """Create customers with e-mails at the domain, which is reserved (RFC 2606)."""
    return [_customer(index, domain) for index in range(count)]


def _customer(index: int, domain: str) -> DemoCustomer:
    first_names, last_names, streets = COMMON["first_names"], COMMON["last_names"], COMMON["streets"]
    first, last = first_names[index % len(first_names)], last_names[(index * 7 + 3) % len(last_names)]
    street_address = streets[index % len(streets)]
    return DemoCustomer(
        firstname=first,
        lastname=last,
        email=f"{slugify(first)}.{slugify(last)}@{domain}",
        cpf=cpf(100_200_300 + index * 7_654_321),
        phone=f"{street_address['area']}9{81_000_000 + index * 123_457:08d}",
        street_address=street_address,
        number=str(12 + index * 37),
    )


def cpf(number: int) -> str:
    """Append the two check digits to a CPF of nine digits (Receita Federal: modulo 11)."""
    digits = [int(digit) for digit in f"{number % 10**9:09d}"]
    for length in (10, 11):
        total = sum(digit * weight for digit, weight in zip(digits, range(length, 1, -1), strict=True))
        digits.append(total * 10 % 11 % 10)
    return "".join(map(str, digits))


def cnpj(first_twelve: str) -> str:
    """Append the two check digits to a CNPJ of twelve digits (Receita Federal: modulo 11)."""
    digits = [int(digit) for digit in first_twelve]
    for weights in ((5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2), (6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2)):
        rest = sum(digit * weight for digit, weight in zip(digits, weights, strict=True)) % 11
        digits.append(0 if rest < 2 else 11 - rest)
    return "".join(map(str, digits))
