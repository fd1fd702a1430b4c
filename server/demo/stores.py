"""The demo stores and their users. Their ids never change, so that stored ids stay valid."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from server.demo import DEMO_STORE_ID
from server.demo.catalog import DemoCatalog, load_catalog
from server.demo.customers import cpf


@dataclass(frozen=True, slots=True)
class Persona:
    """A user whose credentials are printed; `key` is its name in the JSON."""

    key: str
    email: str
    name: str
    user_type: str
    status: str = "A"
    verified: bool = True
    cpf: str | None = None
    privileges: tuple[str, ...] = ()
    has_api_key: bool = False
    has_two_factor: bool = False


@dataclass(frozen=True, slots=True)
class DemoStore:
    """A demo store; `status` is `A` active, `S` suspended or `M` maintenance. The first persona is the owner."""

    key: str
    public_id: UUID
    name: str
    host: str
    status: str = "A"
    message: str | None = None
    catalog: DemoCatalog | None = None
    domain: str = ""
    personas: tuple[Persona, ...] = ()


SHARED_CPF = cpf(529_982_247)

DEMO = DemoStore(
    "demo",
    UUID(DEMO_STORE_ID),
    "Casa Ipê",
    "demo.localhost",
    catalog=load_catalog("casa_ipe"),
    domain="casaipe.example",
    personas=(
        Persona("admin", "admin@demo.example", "Helena Prado", "A", has_api_key=True),
        Persona("staff", "staff@demo.example", "Otávio Lins", "A", privileges=("view_orders",), has_api_key=True),
        Persona("vendor", "vendor@demo.example", "Rita Mandacaru", "V", has_api_key=True),
        Persona("customer", "customer@demo.example", "Marta Cordeiro", "C", cpf=cpf(301_456_782)),
        Persona("two_factor", "two-factor@demo.example", "Bento Arruda", "A", has_two_factor=True),
        Persona("unverified", "unverified@demo.example", "Nilo Pacheco", "C", verified=False),
        Persona("disabled", "disabled@demo.example", "Dora Siqueira", "C", status="D"),
        Persona("pending", "pending@demo.example", "Raul Monteiro", "C", status="P"),
        Persona("shared_a", "irma@shared.example", "Iara Valente", "C", cpf=SHARED_CPF),
        Persona("shared_b", "irmao@shared.example", "Ivo Valente", "C", cpf=SHARED_CPF),
    ),
)
OTHER = DemoStore(
    "other_store",
    UUID("0198f0de-0000-7000-8000-00000000c0de"),
    "Empório Serra Alta",
    "other.localhost",
    catalog=load_catalog("serra_alta"),
    domain="serraalta.example",
    personas=(Persona("admin", "admin@other.example", "Caetano Brum", "A", has_api_key=True),),
)
SUSPENDED = DemoStore(
    "suspended_store",
    UUID("0198f0de-0000-7000-8000-00000000dead"),
    "Livraria Maré Baixa",
    "suspended.localhost",
    status="S",
)
MAINTENANCE = DemoStore(
    "maintenance_store",
    UUID("0198f0de-0000-7000-8000-00000000f1ca"),
    "Bicicletaria Pedra Lisa",
    "maintenance.localhost",
    status="M",
    message="Estamos arrumando as prateleiras. Voltamos amanhã cedo.",
)
STORES = (DEMO, OTHER, SUSPENDED, MAINTENANCE)

PLATFORM_EMAIL = "operator@platform.example"
PLATFORM_NAME = "Operação da plataforma"
