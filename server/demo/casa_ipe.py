"""Casa Ipê, the main demo store: home and gift items of three vendors."""

from __future__ import annotations

from dataclasses import replace

from server.demo.catalog import (
    BOLETO,
    CARD,
    PIX,
    DemoCatalog,
    DemoCategory,
    DemoFeature,
    DemoProduct,
    DemoShippingMethod,
    DemoVendor,
)

VENDORS = (
    DemoVendor(
        "mandacaru",
        "Ateliê Mandacaru",
        "contato@mandacaru.example",
        "482913560001",
        "81987654321",
        "Rua do Barro, 48",
        "Caruaru",
        "PE",
        "55002010",
        "12.00",
    ),
    DemoVendor(
        "sabia",
        "Papel Sabiá",
        "oi@papelsabia.example",
        "317640280001",
        "41991234567",
        "Rua das Araucárias, 1210",
        "Curitiba",
        "PR",
        "80060000",
        "15.00",
    ),
    DemoVendor(
        "rota",
        "Rota do Couro",
        "vendas@rotadocouro.example",
        "209517430001",
        "16981112233",
        "Avenida dos Curtumes, 905",
        "Franca",
        "SP",
        "14400000",
        "10.50",
    ),
)

CATEGORIES = (
    DemoCategory("ceramica", "Cerâmica", "Queimada em forno a lenha; pequenas variações de cor fazem parte da peça."),
    DemoCategory("vasos", "Vasos", "Todos os vasos têm furo de drenagem e acompanham prato.", parent="ceramica"),
    DemoCategory("mesa", "Mesa posta", "Vai à lava-louças e ao micro-ondas, exceto peças com filete dourado."),
    DemoCategory("texteis", "Têxteis", "Lavar à mão ou na máquina em ciclo delicado, com água fria."),
    DemoCategory("roupas", "Roupas", "Tingimento natural: lave separado nas três primeiras vezes."),
    DemoCategory("luz", "Iluminação", "Bivolt. A lâmpada de LED está incluída."),
    DemoCategory("papelaria", "Papelaria", "Papel de fontes certificadas, cortado e costurado na nossa oficina."),
    DemoCategory("cadernos", "Cadernos", "Abre por inteiro sobre a mesa e aceita caneta-tinteiro.", parent="papelaria"),
    DemoCategory("bolsas", "Bolsas", "Couro de curtimento vegetal, que escurece e amacia com o uso."),
    DemoCategory(
        "calcados", "Calçados", "Em caso de dúvida entre dois números, escolha o maior. A primeira troca é grátis."
    ),
    DemoCategory(
        "cozinha", "Cozinha", "Madeira de reflorestamento com acabamento em óleo mineral próprio para alimentos."
    ),
)

FEATURES = (
    DemoFeature(
        "material", "Material", "S", ("Terracota", "Grés", "Algodão", "Linho", "Couro", "Madeira", "Papel", "Latão")
    ),
    DemoFeature("cor", "Cor", "S", ("Natural", "Areia", "Azul-anil", "Verde-musgo", "Ferrugem", "Preto")),
    DemoFeature("marca", "Marca", "B", ("Mandacaru", "Sabiá", "Rota do Couro")),
    DemoFeature("altura", "Altura", "N", suffix=" cm"),
    DemoFeature("feito", "Feito à mão", "C"),
    DemoFeature("medidas", "Medidas", "T"),
    DemoFeature("colecao", "Coleção lançada em", "D"),
)


def _products_of(vendor: str, brand: str, *products: DemoProduct) -> tuple[DemoProduct, ...]:
    """Set the vendor and brand of products."""
    return tuple(replace(product, vendor=vendor, features={"marca": brand, **product.features}) for product in products)


def _product(name: str, category: str, price: int, stock: int, weight: int, text: str, **more: object) -> DemoProduct:
    """Create a product; keyword arguments that are no product fields become features."""
    fields = {"compare_at", "status", "images", "free_shipping", "download", "sells"}
    product_fields = {key: value for key, value in more.items() if key in fields}
    features = {key: str(value) for key, value in more.items() if key not in fields}
    return DemoProduct(name, category, "", price, stock, weight, text, features, **product_fields)  # type: ignore[arg-type]


MANDACARU = _products_of(
    "mandacaru",
    "Mandacaru",
    _product("Vaso Jurema", "vasos", 8990, 46, 1800, "Vaso torneado, de boca larga, para plantas de sombra.",
        material="Terracota", cor="Natural", altura=22, feito="Y"),
    _product("Vaso Jurema grande", "vasos", 15990, 30, 4200, "O irmão maior do Jurema, para costela-de-adão e samambaias.",
        material="Terracota", cor="Natural", altura=34, feito="Y"),
    _product("Vaso Umbu esmaltado", "vasos", 11990, 38, 1500, "Esmalte azul por fora, barro cru por dentro.",
        material="Grés", cor="Azul-anil", altura=18, feito="Y"),
    _product("Moringa Sertão", "ceramica", 13990, 33, 1600, "Mantém a água fresca o dia inteiro; o copo serve de tampa.",
        material="Terracota", cor="Ferrugem", altura=26, feito="Y"),
    _product("Escultura Bumba meu boi", "ceramica", 24900, 14, 900, "Pintada com pigmentos de terra; cada uma é única.",
        compare_at=27900, cor="Ferrugem", altura=17, feito="Y", colecao="2026-06-01"),
    _product("Incensário Folha seca", "ceramica", 4590, 60, 220, "Uma folha moldada em placa, com apoio para varetas e cones.",
        material="Grés", cor="Verde-musgo", feito="Y"),
    _product("Prato raso Agreste", "mesa", 5490, 120, 620, "Borda irregular e centro liso, para o dia a dia.",
        material="Grés", cor="Areia", medidas="27 cm"),
    _product("Prato fundo Agreste", "mesa", 5290, 110, 560, "Fundo o bastante para caldos e massas.",
        material="Grés", cor="Areia", medidas="22 cm"),
    _product("Conjunto Agreste, 12 peças", "mesa", 52900, 18, 7200, "Quatro pratos rasos, quatro fundos e quatro de sobremesa.",
        compare_at=59900, free_shipping=True, material="Grés", cor="Areia"),
    _product("Caneca Sereno", "mesa", 4290, 140, 340, "Cabe um coado inteiro: 320 ml.",
        material="Grés", cor="Azul-anil", altura=9),
    _product("Saladeira Açude", "mesa", 12990, 36, 1450, "Esmalte que lembra água parada ao fim da tarde.",
        material="Grés", cor="Verde-musgo", medidas="28 cm"),
    _product("Jogo de talheres em latão, 16 peças", "mesa", 38900, 16, 1300,
        "Quatro lugares. Escurece com o tempo e volta a brilhar com limão.", material="Latão", images=3),
    _product("Tábua Cumaru", "cozinha", 14990, 42, 1700, "Canaleta para o suco e alça entalhada.",
        material="Madeira", cor="Natural", medidas="40 × 25 cm"),
    _product("Pilão de goiabeira", "cozinha", 11890, 28, 1900, "Para alho, pimenta e paçoca.",
        material="Madeira", altura=14, feito="Y"),
    _product("Colheres de pau, trio", "cozinha", 5990, 75, 180, "Uma reta, uma furada e uma de provar.",
        material="Madeira", feito="Y"),
    _product("Porta-temperos Feira", "cozinha", 9790, 34, 950, "Seis potes de vidro com tampa de madeira.",
        material="Madeira"),
    _product("Panela de barro 3 litros", "cozinha", 18990, 22, 3100, "Vai do fogo à mesa. Antes do primeiro uso, é preciso curá-la.",
        material="Terracota", cor="Preto", feito="Y"),
    _product("Avental Quitanda", "cozinha", 8490, 52, 300, "Algodão encorpado com dois bolsos fundos.",
        material="Algodão", cor="Verde-musgo"),
)  # fmt: skip

SABIA = _products_of(
    "sabia",
    "Sabiá",
    _product("Manta Geada", "texteis", 21990, 26, 1400, "Tramada em tear manual, com franja curta.",
        material="Algodão", cor="Areia", medidas="130 × 170 cm", feito="Y"),
    _product("Almofada Losango", "texteis", 9490, 48, 420, "Capa bordada e enchimento incluído.",
        material="Algodão", cor="Ferrugem", medidas="45 × 45 cm"),
    _product("Caminho de mesa Renda", "texteis", 12490, 32, 260, "Linho com barra de renda de bilro.",
        material="Linho", cor="Natural", medidas="40 × 150 cm", feito="Y"),
    _product("Jogo americano Palha, par", "texteis", 6990, 64, 240, "Palha de milho trançada, forro de algodão.",
        cor="Natural", medidas="45 × 32 cm"),
    _product("Pano de prato Passarada, trio", "texteis", 5490, 90, 280, "Três estampas de pássaros da mata.",
        material="Algodão"),
    _product("Rede Varanda", "texteis", 28990, 15, 2300, "Casal, com mamucaba de três franjas.",
        compare_at=32990, material="Algodão", cor="Azul-anil", free_shipping=True),
    _product("Camiseta Cordel", "roupas", 8990, 85, 190, "Xilogravura impressa à mão sobre malha de algodão.",
        material="Algodão", cor="Natural", medidas="P a GG"),
    _product("Camiseta Igarapé", "roupas", 8490, 70, 190, "Tingida com anil, nunca duas iguais.",
        material="Algodão", cor="Azul-anil", medidas="P a GG"),
    _product("Camisa Brisa", "roupas", 18990, 40, 260, "Linho lavado, botões de casca de coco.",
        material="Linho", cor="Areia", medidas="P a GG", colecao="2026-09-20"),
    _product("Luminária Balão", "luz", 17990, 24, 700, "Papel de arroz sobre estrutura de bambu.",
        material="Papel", altura=35),
    _product("Abajur Ninho", "luz", 23990, 17, 1500, "Cúpula de fibra trançada e base torneada.",
        material="Madeira", altura=48),
    _product("Pendente Cabaça", "luz", 26490, 13, 800, "Cabaça furada à mão, que desenha estrelas na parede.",
        feito="Y", colecao="2026-03-15"),
    _product("Arandela Lua", "luz", 14990, 20, 900, "Luz indireta, boa para corredores e cabeceiras.",
        material="Grés", cor="Areia"),
    _product("Varal de luzes Quermesse", "luz", 7990, 55, 600, "Dez metros, vinte lâmpadas, próprio para área externa."),
    _product("Caderno Capim", "cadernos", 4990, 130, 290, "Pautado, 160 páginas, capa de tecido.",
        material="Papel", cor="Verde-musgo", medidas="A5"),
    _product("Caderno Capim sem pauta", "cadernos", 4990, 95, 290, "160 páginas lisas para desenho e anotações.",
        material="Papel", cor="Areia", medidas="A5"),
    _product("Planner Semeadura", "cadernos", 7990, 58, 410, "Sem datas: começa quando você quiser.",
        material="Papel", cor="Ferrugem", medidas="17 × 24 cm"),
    _product("Cartões Boas-novas, 8 unidades", "papelaria", 3490, 88, 120, "Impressos em tipografia, com envelopes.",
        material="Papel"),
    _product("Papel semente, 10 folhas", "papelaria", 2990, 70, 100, "Depois de lido, plante: nasce manjericão.",
        material="Papel", medidas="A5"),
    _product("Vale-presente digital", "papelaria", 10000, 500, 0, "Chega por e-mail em minutos e vale por um ano.",
        download=True, sells=False),
)  # fmt: skip

ROTA = _products_of(
    "rota",
    "Rota do Couro",
    _product("Bolsa Tropeira", "bolsas", 45900, 19, 1100, "Alça regulável, bolso interno e fecho de latão.",
        material="Couro", cor="Ferrugem", images=3, free_shipping=True),
    _product("Mochila Serra", "bolsas", 59900, 12, 1600, "Comporta notebook de 14 polegadas.",
        compare_at=64900, material="Couro", cor="Preto", images=3, free_shipping=True),
    _product("Carteira Troco", "bolsas", 12990, 66, 110, "Seis cartões, notas dobradas e moedeiro.",
        material="Couro", cor="Natural"),
    _product("Necessaire Estrada", "bolsas", 15990, 31, 260, "Forro impermeável.", material="Couro", cor="Areia"),
    _product("Cinto Cravo", "bolsas", 9990, 44, 210, "Fivela de latão, cinco furos.",
        material="Couro", cor="Preto", medidas="95 a 115 cm"),
    _product("Alpargata Mandioca", "calcados", 13990, 50, 600, "Sola de corda e borracha.",
        material="Algodão", cor="Natural", medidas="34 a 44"),
    _product("Sandália Retirante", "calcados", 18990, 37, 700, "Tiras largas que não marcam o pé.",
        material="Couro", cor="Ferrugem", medidas="34 a 40"),
    _product("Botina Curral", "calcados", 32990, 21, 1500, "Elástico lateral e palmilha de couro.",
        material="Couro", cor="Preto", medidas="36 a 45"),
    _product("Mocassim Domingo", "calcados", 27990, 18, 900, "Costurado à mão, sem forro.",
        material="Couro", cor="Natural", medidas="37 a 44", feito="Y"),
    _product("Chinelo Quintal", "calcados", 7990, 72, 400, "Palmilha de couro e sola de pneu reciclado.",
        material="Couro", medidas="34 a 44"),
    _product("Bota Invernada", "calcados", 39990, 0, 1800, "Cano alto e forro de lã. Volta no outono.",
        material="Couro", cor="Ferrugem", medidas="34 a 40", sells=False),
    _product("Bolsa Tropeira, edição de 2025", "bolsas", 42900, 3, 1100, "Últimas unidades da coleção passada.",
        status="D", material="Couro", sells=False),
    _product("Mala Trem das Onze", "bolsas", 129900, 5, 4100, "Só para quem conhece o link: quarenta horas de trabalho.",
        status="H", material="Couro", sells=False),
    _product("Porta-passaporte Fronteira", "bolsas", 8990, 40, 90, "À espera de aprovação.",
        status="P", material="Couro", sells=False),
)  # fmt: skip

CATALOG = DemoCatalog(
    colour="7b2d8b",
    vendors=VENDORS,
    categories=CATEGORIES,
    features=FEATURES,
    products=MANDACARU + SABIA + ROTA,
    payments=(PIX, BOLETO, CARD),
    shippings=(
        DemoShippingMethod(
            "economica", "Entrega econômica", "5 a 9 dias úteis", 1490, per_kg_cents=290, free_from_cents=29900
        ),
        DemoShippingMethod(
            "expressa", "Entrega expressa", "1 a 3 dias úteis", 2990, per_kg_cents=690, max_weight_grams=15_000
        ),
        DemoShippingMethod("retirada", "Retirada no ateliê", "no dia útil seguinte", 0),
    ),
    customers=25,
    orders={"O": 9, "P": 9, "C": 24, "D": 4, "F": 4, "I": 7, "B": 3},
    reviews=36,
)
