"""The customers of a demo store and their reviews: deterministic, always in the same order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernel.text import slugify

_FIRST = (
    "Ana Clara", "Bruno", "Camila", "Davi", "Elisa", "Fábio", "Gabriela", "Heitor", "Isadora", "João Pedro", "Karina",
    "Leandro", "Marina", "Nicolas", "Olívia", "Paulo", "Quitéria", "Rafael", "Sônia", "Tiago", "Úrsula", "Vinícius",
    "Yasmin", "Zeca", "Luíza",
)  # fmt: skip
_LAST = (
    "Araújo", "Barreto", "Conceição", "Dantas", "Esteves", "Figueira", "Guimarães", "Holanda", "Inácio", "Jardim",
    "Lacerda", "Mourão", "Nogueira", "Ornelas", "Peçanha", "Queirós", "Rezende", "Sabino", "Teles", "Uchoa",
    "Vasques", "Xavier", "Zanetti", "Bittencourt", "Camargo",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class DemoStreet:
    """An address without a house number."""

    street: str
    district: str
    city: str
    state: str
    zipcode: str
    area: str


_STREETS = (
    DemoStreet("Rua das Laranjeiras", "Laranjeiras", "Rio de Janeiro", "RJ", "22240003", "21"),
    DemoStreet("Rua Harmonia", "Vila Madalena", "São Paulo", "SP", "05435000", "11"),
    DemoStreet("Avenida Afonso Pena", "Centro", "Belo Horizonte", "MG", "30130003", "31"),
    DemoStreet("Rua da Aurora", "Boa Vista", "Recife", "PE", "50050000", "81"),
    DemoStreet("Rua Fernando Machado", "Centro Histórico", "Porto Alegre", "RS", "90010320", "51"),
    DemoStreet("Avenida Sete de Setembro", "Vitória", "Salvador", "BA", "40080002", "71"),
    DemoStreet("Rua Vinte e Quatro de Maio", "Centro", "Fortaleza", "CE", "60020001", "85"),
    DemoStreet("Quadra SQN 206", "Asa Norte", "Brasília", "DF", "70844000", "61"),
    DemoStreet("Rua Bocaiúva", "Centro", "Florianópolis", "SC", "88015530", "48"),
    DemoStreet("Travessa Rui Barbosa", "Nazaré", "Belém", "PA", "66035220", "91"),
)


@dataclass(frozen=True, slots=True)
class DemoCustomer:
    """A customer."""

    firstname: str
    lastname: str
    email: str
    cpf: str
    phone: str
    street_address: DemoStreet
    number: str

    @property
    def name(self) -> str:
        """Return the full name."""
        return f"{self.firstname} {self.lastname}"

    @property
    def address(self) -> dict[str, str]:
        """Return the address in the form of orders."""
        own = {name: getattr(self, name) for name in ("firstname", "lastname", "number", "phone")}
        of_street = {
            name: getattr(self.street_address, name) for name in ("street", "district", "city", "state", "zipcode")
        }
        return {**own, **of_street, "country": "BR"}


def create_customers(count: int, domain: str) -> list[DemoCustomer]:
    """Create customers with e-mails at the domain, which is reserved (RFC 2606)."""
    return [_customer(index, domain) for index in range(count)]


def _customer(index: int, domain: str) -> DemoCustomer:
    first, last = _FIRST[index % len(_FIRST)], _LAST[(index * 7 + 3) % len(_LAST)]
    street_address = _STREETS[index % len(_STREETS)]
    return DemoCustomer(
        firstname=first,
        lastname=last,
        email=f"{slugify(first)}.{slugify(last)}@{domain}",
        cpf=cpf(100_200_300 + index * 7_654_321),
        phone=f"{street_address.area}9{81_000_000 + index * 123_457:08d}",
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


# --- Reviews ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DemoReview:
    """A review: a rating from 1 to 5 and its text."""

    rating: int
    text: str


REVIEWS: Sequence[DemoReview] = (
    DemoReview(5, "Chegou antes do prazo e muito bem embalado. Mais bonito do que na foto."),
    DemoReview(4, "Gostei bastante. A cor é um pouco mais escura do que eu esperava."),
    DemoReview(5, "Comprei para dar de presente e acabei ficando com ele. Vou pedir outro."),
    DemoReview(5, "Acabamento impecável, dá para ver que foi feito com cuidado."),
    DemoReview(3, "O produto é bom, mas a entrega demorou mais do que o combinado."),
    DemoReview(4, "Vale o preço. Só senti falta de instruções de limpeza."),
    DemoReview(5, "Segunda compra nesta loja, e não será a última."),
    DemoReview(2, "Veio com uma lasca na borda. A troca foi resolvida em três dias."),
    DemoReview(5, "Minha mãe adorou!"),
    DemoReview(4, "Ótima qualidade; poderia haver mais opções de tamanho."),
    DemoReview(5, "Uso todos os dias há um mês e continua como novo."),
    DemoReview(1, "Não era o que eu procurava e o frete da devolução saiu caro."),
    DemoReview(3, "Bonito, porém menor do que imaginei. Confiram as medidas."),
    DemoReview(5, "Atendimento atencioso, responderam a minha dúvida em minutos."),
    DemoReview(4, "Muito bom. Tirei uma estrela porque a caixa chegou amassada."),
)
