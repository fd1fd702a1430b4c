"""Empório Serra Alta, the second demo store: coffee, cheese and preserves. It makes tenant isolation visible."""

from __future__ import annotations

from server.demo.catalog import (
    BOLETO,
    PIX,
    DemoCatalog,
    DemoCategory,
    DemoFeature,
    DemoProduct,
    DemoShippingMethod,
    DemoVendor,
)

_FARM = "serra"


def _product(name: str, category: str, price: int, stock: int, weight: int, text: str, **features: str) -> DemoProduct:
    return DemoProduct(name, category, _FARM, price, stock, weight, text, features, images=1)


CATALOG = DemoCatalog(
    colour="3b2417",
    vendors=(
        DemoVendor(
            _FARM,
            "Fazenda Serra Alta",
            "fazenda@serraalta.example",
            "564120970001",
            "35988776655",
            "Estrada do Campo Redondo, km 12",
            "Carmo de Minas",
            "MG",
            "37472000",
            "8.00",
        ),
    ),
    categories=(
        DemoCategory("cafes", "Cafés", "Torrado na semana do envio."),
        DemoCategory("queijos", "Queijos", "Viaja em embalagem térmica e deve ir para a geladeira ao chegar."),
        DemoCategory("conservas", "Conservas e doces", "Sem corantes nem conservantes."),
    ),
    features=(
        DemoFeature("torra", "Torra", "S", ("Clara", "Média", "Escura")),
        DemoFeature("peso", "Peso líquido", "N", suffix=" g"),
    ),
    products=(
        _product("Café Amanhecer", "cafes", 3890, 80, 260, "Notas de rapadura e laranja.", torra="Média", peso="250"),
        _product(
            "Café Neblina", "cafes", 4490, 60, 260, "Floral e leve, para métodos filtrados.", torra="Clara", peso="250"
        ),
        _product(
            "Café Fogão a lenha", "cafes", 3490, 90, 520, "Encorpado, como na casa da avó.", torra="Escura", peso="500"
        ),
        _product("Queijo meia cura", "queijos", 6990, 35, 900, "Trinta dias de maturação.", peso="800"),
        _product(
            "Queijo canastra curado", "queijos", 11990, 20, 1000, "Noventa dias, casca lavada com café.", peso="900"
        ),
        _product("Requeijão de corte", "queijos", 3990, 40, 450, "Moreno, raspado do tacho.", peso="400"),
        _product("Doce de leite", "conservas", 2790, 70, 480, "Só leite e açúcar, quatro horas de fogo.", peso="400"),
        _product("Goiabada cascão", "conservas", 2490, 65, 620, "Em barra, embrulhada em palha.", peso="600"),
        _product("Geleia de jabuticaba", "conservas", 2990, 50, 330, "Colhida em setembro, pouco açúcar.", peso="280"),
        _product("Antepasto de berinjela", "conservas", 2690, 45, 340, "Com passas e castanhas.", peso="280"),
    ),
    payments=(PIX, BOLETO),
    shippings=(
        DemoShippingMethod(
            "refrigerada", "Entrega refrigerada", "2 a 4 dias úteis", 2490, per_kg_cents=390, free_from_cents=25000
        ),
    ),
    customers=6,
    orders={"O": 1, "P": 2, "C": 4, "I": 1},
    reviews=5,
)
