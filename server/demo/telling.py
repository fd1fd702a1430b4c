"""Let a demo store say something of itself: pages, blocks, a second language, a status of its own; and let people ask to hear from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from server.demo.acting import StoreOwner
from server.demo.population import DemoCustomer


@dataclass(frozen=True, slots=True)
class _Page:
    """A page, and the title of the one it stands below."""

    name: str
    text: str
    type: str = "T"
    below: str = ""
    link: str = ""
    status: str = "A"


_PAGES: Sequence[_Page] = (
    _Page("Quem somos", "<p>Reunimos ateliês que fazem à mão o que a casa usa todos os dias.</p>"),
    _Page("Ajuda", "<p>Escolha um assunto.</p>"),
    _Page("Trocas e devoluções", "<p>Você tem sete dias para devolver, sem custo.</p>", below="Ajuda"),
    _Page("Prazos de entrega", "<p>Postamos em até dois dias úteis.</p>", below="Ajuda"),
    _Page("Fale conosco", "<p>Respondemos em um dia útil.</p>", type="F", below="Ajuda"),
    _Page("Diário do ateliê", "<p>Histórias de quem faz.</p>", type="B"),
    _Page(
        "Como nasce uma caneca", "<p>Do barro ao forno em nove dias.</p>", type="B", below="Diário do ateliê"
    ),
    _Page("No mapa", "", type="L", link="https://www.openstreetmap.org/"),
    _Page("Promoção de inverno", "<p>Ainda em preparo.</p>", status="D"),
)
_BLOCKS: Sequence[dict[str, object]] = (
    {
        "type": "banner",
        "name": "Topo",
        "properties": {"height": 320, "autoplay": True},
        "content": {"title": "Feito à mão", "link": "/quem-somos"},
    },
    {
        "type": "menu",
        "name": "Rodapé",
        "properties": {"columns": 3},
        "content": {"items": ["Quem somos", "Trocas e devoluções", "Fale conosco"]},
    },
    {"type": "products", "name": "Novidades", "properties": {"limit": 8}, "content": {"sort": "newest"}},
    {"type": "html", "name": "Aviso de férias", "content": {"html": "<b>Voltamos dia 7.</b>"}, "status": "D"},
)
_TESTIMONIALS: Sequence[tuple[int, str]] = (
    (5, "Loja séria: avisaram do atraso antes que eu perguntasse."),
    (4, "Preços justos e embalagem caprichada."),
)


async def tell(
    owner: StoreOwner,
    people: Sequence[DemoCustomer],
    customers: Sequence[str],
    products: Sequence[str],
    now: datetime,
) -> None:
    """Make all of it; `customers` and `products` are the ids of those there are."""
    opened = now - timedelta(days=180)
    english = {"code": "en", "name": "English", "country_code": "US", "status": "D"}
    await owner.do("DemoLanguage", opened, input=english)
    await _pages(owner, opened)
    for block in _BLOCKS:
        await owner.do("DemoBlock", opened, input=block)
    packed = {"letter": "X", "description": "Separado", "color": "#6b46c1", "position": 25}
    await owner.do("DemoStatus", opened, input={**packed, "params": {"inventory": "D", "notify": True}})
    await _listeners(owner, people, customers, products, now)


async def _pages(owner: StoreOwner, at: datetime) -> None:
    made: dict[str, str] = {}
    for position, page in enumerate(_PAGES):
        given = {
            "name": page.name,
            "type": page.type,
            "description": page.text,
            "link": page.link,
            "position": position,
            "status": page.status,
            "parent_id": made.get(page.below),
        }
        made[page.name] = (await owner.do("DemoPage", at, input=given))["id"]


async def _listeners(
    owner: StoreOwner,
    people: Sequence[DemoCustomer],
    customers: Sequence[str],
    products: Sequence[str],
    now: datetime,
) -> None:
    for place, person in enumerate(people[:8]):
        given = {"email": person.email, "status": "D" if place == 7 else "A"}
        await owner.do("DemoSubscriber", now - timedelta(days=60 - 7 * place), input=given)
    for place, (letter, notes) in enumerate(
        (
            ("C", "Queria saber se a caneca vai ao micro-ondas."),
            ("F", "Prazo para Manaus."),
            ("I", "Pedido para um restaurante, cem peças."),
            ("N", "Nota fiscal em nome da empresa."),
        )
    ):
        person = people[place % len(people)]
        request = {
            "name": person.firstname,
            "phone": person.phone,
            "time_from": "09:00",
            "time_to": "12:00",
            "product_id": products[place % len(products)],
            "notes": notes,
            "status": letter,
        }
        await owner.do("DemoCallRequest", now - timedelta(days=4 - place), input=request)
    for place, (rating, message) in enumerate(_TESTIMONIALS):
        opinion = {
            "object_type": "E",
            "customer_id": customers[place % len(customers)],
            "message": message,
            "rating": rating,
        }
        await owner.do("DemoTestimonial", now - timedelta(days=20 - place), input=opinion)
