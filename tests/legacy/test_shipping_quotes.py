"""Check shipping quotes and vendor availability for a postal code."""

from typing import Any

import pytest

from models.tables.shipping import Destination, DestinationZipcode, ShippingMethod, ShippingRate
from tests.harness.records import UNKNOWN_ID, UNKNOWN_NUMBER
from tests.harness.sample_store import SampleStore

RECIFE, SAO_PAULO = "50010-000", "01310100"
ADMIN_ONLY = {"status": 403, "message": "Forbidden: admin scope required"}


@pytest.fixture
async def sample(sample: SampleStore) -> SampleStore:
    """Return a store whose warehouse is active and delivers to Pernambuco only."""
    assert (await sample.put(f"/api/warehouses/{sample.warehouse}", {"status": "A"})).status == 200
    return sample


async def quotes(sample: SampleStore, product: Any, zipcode: str = RECIFE, more: str = "", **kwargs: Any) -> Any:
    answer = await sample.get(f"/api/delivery_methods?product_id={product}&zipcode={zipcode}{more}", **kwargs)
    assert answer.status == 200, answer.raw
    assert set(answer.body) == {"delivery_methods", "params"}
    return answer.body


async def availability(sample: SampleStore, product: Any, zipcode: str = RECIFE) -> list[dict[str, Any]]:
    answer = await sample.get(f"/api/sellers_availability?product_id={product}&zipcode={zipcode}")
    assert answer.status == 200, answer.raw
    assert set(answer.body) == {"sellers"}
    return answer.body["sellers"]


async def test_a_quote_has_the_documented_fields(sample):
    body = await quotes(sample, sample.mug, more="&amount=2")
    assert body == {
        "delivery_methods": [
            {
                "shipping_id": str(sample.sedex),
                "shipping": "Sedex",
                "price": "15.00",
                # 3 days of the method, 48 hours of the area, 1 day of the warehouse.
                "delivery_time": "6 dias",
                "company_id": str(sample.vendor),
                "warehouse_id": str(sample.warehouse),
            }
        ],
        "params": {"product_id": str(sample.mug), "zipcode": RECIFE, "amount": "2"},
    }


async def test_the_amount_defaults_to_one(sample):
    assert (await quotes(sample, sample.mug))["params"]["amount"] == "1"
    assert await quotes(sample, sample.mug, more="&amount=") == await quotes(sample, sample.mug, more="&amount=1")


async def test_a_product_uuid_and_a_cep_without_hyphen_are_accepted(sample):
    by_number = (await quotes(sample, sample.mug))["delivery_methods"]
    assert (await quotes(sample, sample.mug.id, "50010000"))["delivery_methods"] == by_number


async def test_the_price_adds_base_weight_and_items_and_is_zero_from_free_from_on(sample):
    await sample.add(
        ShippingMethod,
        name="PAC",
        base_cents=1_000,
        per_kg_cents=200,
        per_item_cents=50,
        free_from_cents=14_970,
        delivery_time="5 a 8 dias úteis",
        position=1,
    )
    for amount, price in ((1, "11.20"), (2, "12.40"), (3, "0.00")):  # 0.350 kg each, at 49.90
        pac = (await quotes(sample, sample.mug, more=f"&amount={amount}"))["delivery_methods"][1]
        assert (pac["price"], pac["delivery_time"]) == (price, "8 a 11 dias úteis"), amount


async def add_rate(sample: SampleStore) -> None:
    """Add a rate of the method for Pernambuco only."""
    destination = await sample.add(Destination, name="Pernambuco", states=["PE"])
    await sample.add(
        DestinationZipcode, destination_id=destination.number, zipcode_from="50000000", zipcode_to="56999999"
    )
    await sample.add(
        ShippingRate,
        shipping_method_id=sample.sedex.number,
        destination_id=destination.number,
        base_cents=700,
        per_kg_cents=1_000,
    )


async def test_the_rate_is_that_of_the_destination_containing_the_cep(sample):
    await add_rate(sample)
    [quote] = (await quotes(sample, sample.mug, more="&amount=2"))["delivery_methods"]
    assert quote["price"] == "14.00"  # 7.00 and 0.700 kg at 10.00
    assert (await quotes(sample, sample.mug, SAO_PAULO))["delivery_methods"] == []


async def test_without_a_delivering_warehouse_there_is_no_quote(sample):
    assert (await quotes(sample, sample.mug, SAO_PAULO))["delivery_methods"] == []
    assert (await sample.delete(f"/api/warehouses/{sample.warehouse}")).status == 204
    [quote] = (await quotes(sample, sample.mug, SAO_PAULO))["delivery_methods"]
    # Without warehouses the store ships everywhere.
    assert (quote["warehouse_id"], quote["delivery_time"]) == ("0", "3 dias")


async def test_a_vendors_warehouse_precedes_the_stores(sample):
    # Without areas it delivers everywhere.
    for zipcode in (RECIFE, SAO_PAULO):
        [quote] = (await quotes(sample, sample.plate, zipcode))["delivery_methods"]
        assert (quote["warehouse_id"], quote["company_id"]) == (str(sample.depot), str(sample.rival)), zipcode
        assert quote["delivery_time"] == "3 dias", zipcode
    await sample.put(f"/api/warehouses/{sample.depot}", {"status": "D"})
    [quote] = (await quotes(sample, sample.plate, RECIFE))["delivery_methods"]
    assert quote["warehouse_id"] == str(sample.warehouse)


async def test_the_highest_priority_wins_and_exclusive_warehouses_serve_members_only(sample):
    everywhere = {"name": "Novo", "priority": 20, "delivery_areas": [{"area_name": "Brasil"}]}
    created = (await sample.post("/api/warehouses", everywhere)).body["warehouse_id"]
    [quote] = (await quotes(sample, sample.mug))["delivery_methods"]
    assert (quote["warehouse_id"], quote["delivery_time"]) == (created, "3 dias")
    group = {"usergroup_id": sample.wholesale.number, "allocation_type": "E"}
    await sample.post(f"/api/warehouses/{created}/user_groups", group)
    [quote] = (await quotes(sample, sample.mug))["delivery_methods"]
    assert quote["warehouse_id"] == str(sample.warehouse)
    query = f'{{ shipping_quotes(product_id: "{sample.mug.id}", zipcode: "01310-100") {{ name price_cents delivery_time }} }}'
    for person, is_quoted in ((sample.caio, True), (sample.bia, False)):  # Caio is a member of the usergroup
        answer = await sample.post("/graphql", {"query": query}, auth="bearer", by=person)
        assert bool(answer.body["data"]["shipping_quotes"]) == is_quoted


async def test_an_exclusive_warehouse_serves_nobody_once_its_usergroup_was_deleted(sample):
    group = {"usergroup_id": sample.wholesale.number, "allocation_type": "E"}
    created = (await sample.post("/api/warehouses", {"name": "Novo", "priority": 20, "user_groups": [group]})).body
    path = f"/api/warehouses/{created['warehouse_id']}"
    assert (await sample.delete(f"/api/usergroups/{sample.wholesale}")).status == 204
    [quote] = (await quotes(sample, sample.mug))["delivery_methods"]
    assert quote["warehouse_id"] == str(sample.warehouse)

    record = (await sample.get(path)).body
    assert [kept["usergroup_name"] for kept in record["user_groups"]] == ["Atacado"]
    assert (await sample.put(path, record)).status == 200
    assert (await sample.get(path)).body == record
    assert (await sample.delete(f"{path}/user_groups/{sample.wholesale}")).status == 204
    [quote] = (await quotes(sample, sample.mug))["delivery_methods"]
    assert quote["warehouse_id"] == created["warehouse_id"]


async def test_the_most_precise_area_applies(sample):
    path = f"/api/warehouses/{sample.warehouse}/delivery_areas"
    narrow = {"zipcode_from": "50000-000", "zipcode_to": "50999-999"}
    await sample.post(path, {"area_name": "Centro", "delivery_time": 1, "zipcodes": [narrow]})
    await sample.post(path, {"area_name": "Brasil", "delivery_time": 240})
    [quote] = (await quotes(sample, sample.mug))["delivery_methods"]
    assert quote["delivery_time"] == "5 dias"  # 3, 1 for the hour, 1 for the delay
    [quote] = (await quotes(sample, sample.mug, SAO_PAULO))["delivery_methods"]
    assert quote["delivery_time"] == "14 dias"


@pytest.mark.parametrize(
    "delivery_time, expected",
    [
        ("", "3 dias"),
        ("rápido", "rápido + 3 dias"),
        ("2-4 dias", "5-7 dias"),
        ("12 horas", "12 horas + 3 dias"),
    ],
)
async def test_days_are_added_to_a_free_text_delivery_time(sample, delivery_time, expected):
    await sample.execute(
        "update shipping_methods set delivery_time = $2 where id = $1", sample.sedex.number, delivery_time
    )
    [quote] = (await quotes(sample, sample.mug))["delivery_methods"]
    assert quote["delivery_time"] == expected


async def test_products_that_cannot_be_shipped_are_not_quoted(sample):
    assert (await quotes(sample, sample.ebook))["delivery_methods"] == []
    await sample.execute("update shipping_methods set max_weight_grams = 600 where id = $1", sample.sedex.number)
    assert (await quotes(sample, sample.mug, more="&amount=2"))["delivery_methods"] == []
    await sample.execute("update shipping_methods set status = 'D' where id = $1", sample.sedex.number)
    assert (await quotes(sample, sample.mug))["delivery_methods"] == []


async def test_another_vendors_method_is_not_offered(sample):
    await sample.add(ShippingMethod, name="Da Lua", vendor_id=sample.rival.number, base_cents=1)
    assert [quote["shipping"] for quote in (await quotes(sample, sample.mug))["delivery_methods"]] == ["Sedex"]
    names = [quote["shipping"] for quote in (await quotes(sample, sample.plate))["delivery_methods"]]
    assert sorted(names) == ["Da Lua", "Sedex"]


INVALID = [
    ("", "product_id is required"),
    ("product_id=&zipcode=50010000", "product_id is required"),
    ("product_id=0&zipcode=50010000", "product_id is required"),
    ("product_id={mug}", "zipcode is required"),
    ("product_id={mug}&zipcode=", "zipcode is required"),
    ("product_id={mug}&zipcode=5001000", "zipcode is '5001000'; expected a CEP of 8 digits"),
    ("product_id={mug}&zipcode=abc", "zipcode is 'abc'; expected a CEP of 8 digits"),
    ("product_id={mug}&zipcode[]=50010000", "zipcode is a list; expected a CEP of 8 digits"),
    ("product_id=abc&zipcode=50010000", "product_id is 'abc'; expected an id"),
    (f"product_id={UNKNOWN_NUMBER}&zipcode=50010000", f"product_id '{UNKNOWN_NUMBER}' not found"),
    (f"product_id={UNKNOWN_ID}&zipcode=50010000", f"product_id '{UNKNOWN_ID}' not found"),
]


@pytest.mark.parametrize("path", ["delivery_methods", "sellers_availability"])
@pytest.mark.parametrize("query, message", INVALID)
async def test_invalid_parameters_are_rejected(sample, path, query, message):
    answer = await sample.get(f"/api/{path}?{query.format(mug=sample.mug)}")
    assert (answer.status, answer.body) == (400, {"status": 400, "message": message})


@pytest.mark.parametrize("amount", ["0", "-1", "1.5", "x", "9" * 18, "9" * 30])
async def test_an_invalid_amount_is_rejected(sample, amount):
    await sample.execute("update shipping_methods set per_item_cents = 10000 where id = $1", sample.sedex.number)
    answer = await sample.get(f"/api/delivery_methods?product_id={sample.mug}&zipcode={RECIFE}&amount={amount}")
    assert (answer.status, answer.body["status"]) == (400, 400)
    assert answer.body["message"].startswith("amount is ")


async def test_quotes_require_an_administrator_with_the_privilege(sample, other_sample):
    for path, area in (("delivery_methods", "shipping"), ("sellers_availability", "marketplace")):
        url = f"/api/{path}?product_id={sample.mug}&zipcode={RECIFE}"
        assert (await sample.get(url, auth=None)).status == 401, (path, area)
        for person in (sample.vendor_user, sample.caio):
            answer = await sample.get(url, by=person, auth="bearer")
            assert (answer.status, answer.body) == (403, ADMIN_ONLY), (path, area, person)
        answer = await sample.get(url, by=sample.staff)
        message = f"Forbidden: privilege view_{area} required"
        assert (answer.status, answer.body) == (403, {"status": 403, "message": message}), (path, area)
        assert (await sample.get(url, by=await sample.add_user(f"view_{area}"))).status == 200
        foreign = await sample.get(f"/api/{path}?product_id={other_sample.mug.id}&zipcode={RECIFE}")
        assert foreign.status == 400, (path, area)
        for base in ("/api/v1.0", "/api/2.0", "/api/2"):
            assert (await sample.get(url.replace("/api", base, 1).replace("?", "/?", 1))).status == 200
        refused = await sample.post(f"/api/{path}", {})
        assert (refused.status, refused.headers["Allow"]) == (405, "GET, HEAD"), (path, area)


async def test_customers_quote_products_that_are_sold_in_graphql(sample):
    query = '{ shipping_quotes(product_id: "%s", zipcode: "50010-000") { shipping_method_id vendor_id } }'
    answer = await sample.post("/graphql", {"query": query % sample.mug.id}, auth="bearer", by=sample.caio)
    assert answer.body["data"]["shipping_quotes"] == [
        {"shipping_method_id": sample.sedex.id, "vendor_id": sample.vendor.id}
    ]
    hidden = await sample.post("/graphql", {"query": query % sample.secret.id}, auth="bearer", by=sample.caio)
    assert len(hidden.body["data"]["shipping_quotes"]) == 1
    await sample.put(f"/api/products/{sample.secret}", {"status": "D"})
    disabled = await sample.post("/graphql", {"query": query % sample.secret.id}, auth="bearer", by=sample.caio)
    assert disabled.body["errors"][0]["extensions"]["code"] == "VALIDATION_FAILED"


# --- Vendor availability -----------------------------------------------------------------------------------------------------


async def test_an_availability_row_has_the_documented_fields(sample):
    assert await availability(sample, sample.mug) == [
        {
            "company_id": str(sample.vendor),
            "company": "Ateliê Sol",
            "product_id": str(sample.mug),
            "price": "49.90",
            "amount": "47",
            "delivers": "Y",
            "delivery_time": "6 dias",
        }
    ]


async def test_every_vendor_of_the_same_product_code_is_listed(sample):
    same = await sample.add_product(sku="CAN-1", price_cents=4_000, vendor_id=sample.rival.number)
    await sample.add_product(sku="CAN-1", price_cents=1, status="H")
    own = await sample.add_product(sku="CAN-1", price_cents=9_000, vendor_id=None)
    rows = await availability(sample, sample.mug, SAO_PAULO)
    assert [(row["product_id"], row["company"], row["delivers"]) for row in rows] == [
        (str(sample.mug), "Ateliê Sol", "N"),  # the store's warehouse does not deliver there
        (str(same), "Casa Lua", "Y"),
        (str(own), "Loja", "N"),
    ]
    assert [row["delivery_time"] for row in rows] == ["", "3 dias", ""]


async def test_downloads_are_delivered_everywhere(sample):
    [row] = await availability(sample, sample.ebook, SAO_PAULO)
    assert (row["delivers"], row["delivery_time"]) == ("Y", "")


async def test_the_number_of_statements_does_not_grow_with_the_vendors(sample):
    await sample.get("/api/products")
    url = f"/api/sellers_availability?product_id={sample.mug}&zipcode={RECIFE}"
    few = await sample.get(url)
    for number in range(12):
        vendor = sample.rival if number % 2 else sample.vendor
        await sample.add_product(sku="CAN-1", vendor_id=vendor.number)
    many = await sample.get(url)
    assert len(many.body["sellers"]) == 13
    assert few.statements == many.statements == 5
    quoted = await sample.get(f"/api/delivery_methods?product_id={sample.mug}&zipcode={RECIFE}")
    assert quoted.statements == 4
