"""Create content of a demo store: pages, blocks, a language, a custom status; and subscribers, call requests and testimonials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from server.demo.customers import DemoCustomer
from server.demo.owner import DemoOwner
from server.demo.pictures.uploads import Image


@dataclass(frozen=True, slots=True)
class _Page:
    """A page, with the title of its parent."""

    name: str
    description: str
    type: str = "T"
    parent: str = ""
    link: str = ""
    status: str = "A"


_PAGES: Sequence[_Page] = (
    _Page("Quem somos", "<p>Reunimos ateliês que fazem à mão o que a casa usa todos os dias.</p>"),
    _Page("Ajuda", "<p>Escolha um assunto.</p>"),
    _Page("Trocas e devoluções", "<p>Você tem sete dias para devolver, sem custo.</p>", parent="Ajuda"),
    _Page("Prazos de entrega", "<p>Postamos em até dois dias úteis.</p>", parent="Ajuda"),
    _Page("Fale conosco", "<p>Respondemos em um dia útil.</p>", type="F", parent="Ajuda"),
    _Page("Diário do ateliê", "<p>Histórias de quem faz.</p>", type="B"),
    _Page("Como nasce uma caneca", "<p>Do barro ao forno em nove dias.</p>", type="B", parent="Diário do ateliê"),
    _Page("No mapa", "", type="L", link="https://www.openstreetmap.org/"),
    _Page("Promoção de inverno", "<p>Ainda em preparo.</p>", status="D"),
)
_BLOCKS: Sequence[dict[str, object]] = (
    {
        "type": "banner",
        "name": "Topo",
        "properties": {"height": "320", "autoplay": "Y"},
        "content": {"title": "Feito à mão", "link": "/quem-somos"},
    },
    {
        "type": "text",
        "name": "Frete",
        "properties": {"color": "verde"},
        "content": {"text": "Frete grátis a partir de R$ 300 no Sudeste."},
    },
    {"type": "products", "name": "Novidades", "properties": {"limit": "8"}, "content": {"sort": "newest"}},
    {"type": "html", "name": "Aviso de férias", "content": {"html": "<b>Voltamos dia 7.</b>"}, "status": "D"},
)
_TESTIMONIALS: Sequence[tuple[int, str]] = (
    (5, "Loja séria: avisaram do atraso antes que eu perguntasse."),
    (4, "Preços justos e embalagem caprichada."),
)


async def create_content(
    owner: DemoOwner,
    customers: Sequence[DemoCustomer],
    customer_ids: Sequence[str],
    products: Sequence[str],
    banner: Image | None,
    now: datetime,
) -> dict[str, str]:
    """Create all of it, and return the ids of the pages by name; `customer_ids` and `products` are the ids of existing rows.

    The page that the banner links to has its picture.
    """
    created_at = now - timedelta(days=180)
    await owner.create("language", created_at, code="en", name="English", country_code="US", status="D")
    page_ids = await _create_pages(owner, banner, created_at)
    for block in _BLOCKS:
        await owner.create("block", created_at, **block)
    await _create_audience(owner, customers, customer_ids, products, now)
    return page_ids


async def _create_pages(owner: DemoOwner, banner: Image | None, at: datetime) -> dict[str, str]:
    page_ids: dict[str, str] = {}
    for position, page in enumerate(_PAGES):
        values = asdict(page)
        parent = page_ids.get(values.pop("parent"))
        page_ids[page.name] = await owner.create(
            "page", at, **values, position=position, parent_id=parent, image=None if position else banner
        )
    return page_ids


async def _create_audience(
    owner: DemoOwner,
    customers: Sequence[DemoCustomer],
    customer_ids: Sequence[str],
    products: Sequence[str],
    now: datetime,
) -> None:
    for index, customer in enumerate(customers[:8]):
        at = now - timedelta(days=60 - 7 * index)
        await owner.create("subscriber", at, email=customer.email, status="D" if index == 7 else "A")
    for index, (status, notes) in enumerate(
        (
            ("C", "Queria saber se a caneca vai ao micro-ondas."),
            ("F", "Prazo para Manaus."),
            ("I", "Pedido para um restaurante, cem peças."),
            ("N", "Nota fiscal em nome da empresa."),
        )
    ):
        customer = customers[index % len(customers)]
        await owner.create(
            "call_request",
            now - timedelta(days=4 - index),
            name=customer.firstname,
            phone=customer.phone,
            time_from="09:00",
            time_to="12:00",
            product_id=products[index % len(products)],
            notes=notes,
            status=status,
        )
    for index, (rating, message) in enumerate(_TESTIMONIALS):
        customer_id = customer_ids[index % len(customer_ids)]
        review = {"object_type": "E", "customer_id": customer_id, "message": message, "rating": rating}
        await owner.create("review", now - timedelta(days=20 - index), **review)
