"""Check the addresses of users' profiles (`b_*`, `s_*`), and that an order for a known customer gets them."""

import pytest

from tests.harness.sample_store import NewSampleStore, SampleStore

BILLING = {
    "b_firstname": "Ana Maria",
    "b_lastname": "de Souza",
    "b_address": "Rua da Aurora, 10",
    "b_address_2": "apto 3",
    "b_city": "Recife",
    "b_state": "PE",
    "b_country": "BR",
    "b_zipcode": "50050000",
    "b_phone": "81999990000",
}
SHIPPING = {"s_" + name[2:]: value for name, value in BILLING.items()} | {"s_city": "Olinda", "s_zipcode": "53020000"}


@pytest.fixture
async def sample(new_sample: NewSampleStore) -> SampleStore:
    """Return a store whose dialect has the addresses."""
    return await new_sample(legacy_lists="cscart")


async def profile_of(sample: SampleStore, user: object) -> dict[str, str]:
    record = (await sample.get(f"/api/users/{user}")).body
    return {name: record[name] for name in (*BILLING, *SHIPPING)}


async def test_the_addresses_of_a_profile_are_stored_and_read_back(sample: SampleStore) -> None:
    assert set((await profile_of(sample, sample.caio)).values()) <= {""}
    assert (await sample.put(f"/api/users/{sample.caio}", BILLING | SHIPPING)).status == 200
    assert await profile_of(sample, sample.caio) == BILLING | SHIPPING
    assert (await sample.put(f"/api/users/{sample.caio}", {"b_city": "Caruaru"})).status == 200
    assert await profile_of(sample, sample.caio) == BILLING | SHIPPING | {"b_city": "Caruaru"}
    body = {"email": "nova@example.com", "password": "a good long password", **BILLING}
    created = await sample.post("/api/users", body)
    assert created.status == 201
    assert "X-Ignored-Fields" not in created.headers
    assert (await profile_of(sample, created.body["user_id"]))["b_lastname"] == "de Souza"


async def test_a_profile_sent_back_writes_nothing(sample: SampleStore) -> None:
    await sample.put(f"/api/users/{sample.caio}", BILLING | SHIPPING)
    rows = "select string_agg(xmin::text || id, ',' order by id) from user_addresses"
    before = await sample.value(rows)
    record = (await sample.get(f"/api/users/{sample.caio}")).body
    assert (await sample.put(f"/api/users/{sample.caio}", record)).status == 200
    assert (await sample.put(f"/api/users/{sample.caio}", BILLING)).status == 200
    assert await sample.value(rows) == before


async def test_one_address_for_both_is_divided_when_one_changes(sample: SampleStore) -> None:
    await sample.put(f"/api/users/{sample.caio}", BILLING)
    await sample.execute("update user_addresses set is_default_shipping = true")
    both = await profile_of(sample, sample.caio)
    assert both["s_city"] == both["b_city"] == "Recife"
    await sample.put(f"/api/users/{sample.caio}", {"s_city": "Olinda"})
    divided = await profile_of(sample, sample.caio)
    assert (divided["b_city"], divided["s_city"], divided["s_lastname"]) == ("Recife", "Olinda", "de Souza")
    assert await sample.value("select count(*) from user_addresses") == 2


@pytest.mark.parametrize(
    "body, message",
    [
        ({"b_state": "XX"}, "b_state is 'XX'; expected a state of Brazil such as SP"),
        ({"s_country": "Brasil"}, "s_country is 'Brasil'; expected a country's code of two letters"),
        ({"b_phone": "none"}, "b_phone is 'none'; expected a telephone number"),
        ({"b_city": []}, "b_city is []; expected a text"),
    ],
)
async def test_a_wrong_address_is_refused(sample: SampleStore, body: dict[str, object], message: str) -> None:
    answer = await sample.put(f"/api/users/{sample.caio}", body)
    assert (answer.status, answer.body["message"]) == (400, message)


async def test_the_other_dialect_has_no_addresses_of_a_profile(shared_sample: SampleStore) -> None:
    path = f"/api/users/{shared_sample.caio}"
    record = (await shared_sample.get(path)).body
    assert not {*BILLING, *SHIPPING} & record.keys()
    answer = await shared_sample.put(path, {"b_city": "Recife", "b_state": "XX"})
    assert (answer.status, answer.headers["X-Ignored-Fields"]) == (200, "b_city, b_state")
    rows = "select count(*) from user_addresses where user_id = $1"
    assert await shared_sample.value(rows, shared_sample.caio.number) == 0


async def test_only_the_owner_changes_its_own_addresses(sample: SampleStore) -> None:
    manager = await sample.add_user("manage_users", "view_users")
    answer = await sample.put(f"/api/users/{sample.owner}", {"b_city": "Recife"}, by=manager)
    assert answer.status == 403
    assert (await profile_of(sample, sample.owner))["b_city"] == ""


@pytest.mark.parametrize("dialect", ["contract", "cscart"])
async def test_an_order_for_a_known_customer_gets_the_profile_and_its_addresses(
    sample: SampleStore, dialect: str
) -> None:
    await sample.put(f"/api/users/{sample.caio}", BILLING | SHIPPING)
    await sample.put("/api/settings/legacy_dialect", {"value": dialect})
    order = {"user_id": sample.caio.number, "shipping_id": sample.sedex.number}
    order |= {"products": {str(sample.ebook): {"amount": 1}}}

    async def placed(**user_data: str) -> dict[str, str]:
        answer = await sample.post("/api/orders", order | ({"user_data": user_data} if user_data else {}))
        assert answer.status == 201, answer.raw
        return (await sample.get(f"/api/orders/{answer.body['order_id']}")).body

    record = await placed()
    assert {name: record[name] for name in BILLING | SHIPPING} == BILLING | SHIPPING
    customer = (await sample.get(f"/api/users/{sample.caio}")).body
    for name in ("email", "firstname", "lastname", "phone"):
        assert record[name] == customer[name], name
    # An address that the body says wins, alone for both as ever.
    record = await placed(s_city="Natal", s_zipcode="59000000")
    assert (record["s_city"], record["b_city"], record["s_address"]) == ("Natal", "Natal", "")


async def test_an_order_of_another_family_gets_no_address_of_itself(sample: SampleStore) -> None:
    await sample.put(f"/api/users/{sample.caio}", BILLING | SHIPPING)
    document = "mutation ($input: OrderInput!) { order_create(input: $input) { shipping_address { city } } }"
    input = {"customer_id": sample.caio.id, "items": [{"product_id": sample.ebook.id, "quantity": 1}]}
    answer = await sample.post("/graphql", {"query": document, "variables": {"input": input}}, auth="bearer")
    assert answer.body["data"]["order_create"] == {"shipping_address": None}
