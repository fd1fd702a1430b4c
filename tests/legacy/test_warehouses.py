"""Check the routes of warehouses, their delivery areas and their usergroups."""

import asyncio
from typing import Any

import pytest

from tests.harness.records import UNKNOWN_ID, UNKNOWN_NUMBER
from tests.harness.sample_store import SampleStore

BASE = "/api/2.0/warehouses"
AREA = {
    "area_name": "Capital",
    "states": ["SP", "RJ"],
    "cities": ["São Paulo", "Campinas"],
    "zipcodes": [
        {"zipcode_from": "01000-000", "zipcode_to": "05999-999"},
        {"zipcode_from": "20000000", "zipcode_to": "20999999"},
    ],
    "delivery_time": 24,
    "status": "A",
}


async def create(sample: SampleStore, **body: Any) -> str:
    answer = await sample.post(BASE, {"name": "Galpão"} | body)
    assert answer.status == 201, answer.raw
    assert set(answer.body) == {"warehouse_id"}
    return answer.body["warehouse_id"]


async def read(sample: SampleStore, warehouse: Any) -> dict[str, Any]:
    answer = await sample.get(f"{BASE}/{warehouse}")
    assert answer.status == 200, answer.raw
    return answer.body


async def listed(sample: SampleStore, query: str) -> set[str]:
    answer = await sample.get(f"{BASE}?{query}")
    assert answer.status == 200, answer.raw
    assert answer.body["params"]["total_items"] == len(answer.body["warehouses"])
    return set(answer.body["warehouses"])


async def test_a_warehouse_is_created_with_defaults(sample):
    number = await create(sample)
    warehouse = await read(sample, number)
    for name in ("created_at", "updated_at"):
        moment = warehouse.pop(name)
        assert len(moment) == len("2026-11-21T00:00:00Z"), name
        assert moment.endswith("Z"), name
    assert warehouse == {
        "warehouse_id": number,
        "name": "Galpão",
        "code": "",
        "description": "",
        "status": "A",
        "address": "",
        "city": "",
        "state": "",
        "country": "BR",
        "zipcode": "",
        "phone": "",
        "email": "",
        "latitude": "",
        "longitude": "",
        "priority": 0,
        "is_default": "N",
        "shipping_delay": 0,
        "min_items_in_box": 0,
        "max_items_in_box": 0,
        "company_id": "0",
        "delivery_areas": [],
        "user_groups": [],
    }


@pytest.mark.parametrize(
    "name, value, expected",
    [
        ("name", "Centro", "Centro"),
        ("code", "C-1", "C-1"),
        ("code", 17, "17"),
        ("description", "<b>x</b>", "<b>x</b>"),
        ("status", "D", "D"),
        ("status", "disabled", "D"),
        ("address", "Rua do Porto, 1", "Rua do Porto, 1"),
        ("city", "Recife", "Recife"),
        ("state", "sp", "SP"),
        ("state", "são paulo", "SP"),
        ("country", "br", "BR"),
        ("zipcode", "01310-100", "01310-100"),
        ("phone", "+55 81 99999-0000", "+55 81 99999-0000"),
        ("email", "galpao@example.com", "galpao@example.com"),
        ("latitude", "-8.0631490", "-8.0631490"),
        ("longitude", -34.871, "-34.871"),
        ("priority", 7, 7),
        ("priority", "7", 7),
        ("priority", -1, -1),
        ("is_default", "Y", "Y"),
        ("is_default", "n", "N"),
        ("shipping_delay", 3, 3),
        ("shipping_delay", "3", 3),
        ("min_items_in_box", 2, 2),
        ("max_items_in_box", "9", 9),
    ],
)
async def test_a_field_is_read_back_after_create_and_update(sample, name, value, expected):
    assert (await read(sample, await create(sample, **{name: value})))[name] == expected
    before = await read(sample, sample.depot)
    answer = await sample.put(f"{BASE}/{sample.depot}", {name: value})
    assert (answer.status, answer.body) == (200, {"warehouse_id": str(sample.depot)})
    after = await read(sample, sample.depot)
    for record in (before, after):
        record.pop("updated_at")
    assert after == before | {name: expected}


async def test_a_warehouse_may_belong_to_a_vendor(sample):
    number = await create(sample, company_id=sample.vendor.number)
    assert (await read(sample, number))["company_id"] == str(sample.vendor)
    await sample.put(f"{BASE}/{number}", {"company_id": sample.rival.id})
    assert (await read(sample, number))["company_id"] == str(sample.rival)
    await sample.put(f"{BASE}/{number}", {"company_id": 0})
    assert (await read(sample, number))["company_id"] == "0"


async def test_a_warehouse_is_created_with_areas_and_groups(sample):
    group = {"usergroup_id": sample.wholesale.number, "priority": 3, "allocation_type": "exclusive"}
    number = await create(sample, delivery_areas=[AREA], user_groups=[group])
    warehouse = await read(sample, number)
    [area] = warehouse["delivery_areas"]
    assert area.pop("area_id").isdigit()
    assert area == AREA
    assert warehouse["user_groups"] == [
        {
            "usergroup_id": str(sample.wholesale),
            "usergroup_name": "Atacado",
            "priority": 3,
            "allocation_type": "E",
            "status": "A",
        }
    ]


async def test_a_list_row_is_the_complete_record(sample):
    rows = (await sample.get(f"{BASE}?warehouse_id={sample.warehouse}")).body["warehouses"]
    assert rows[str(sample.warehouse)] == await read(sample, sample.warehouse)


async def test_updating_a_record_with_itself_changes_nothing(sample):
    for warehouse in (sample.warehouse, sample.depot):
        before = await read(sample, warehouse)
        assert (await sample.put(f"{BASE}/{warehouse}", before)).status == 200
        after = await read(sample, warehouse)
        for record in (before, after):
            record.pop("updated_at")
        assert after == before, warehouse


async def test_an_update_replaces_the_areas(sample):
    before = (await read(sample, sample.warehouse))["delivery_areas"][0]
    answer = await sample.put(
        f"{BASE}/{sample.warehouse}",
        {"delivery_areas": [{"area_id": before["area_id"], "delivery_time": 12}, AREA]},
    )
    assert answer.status == 200, answer.raw
    existing, new = (await read(sample, sample.warehouse))["delivery_areas"]
    assert existing == before | {"delivery_time": 12}
    assert new["area_name"] == "Capital"
    await sample.put(f"{BASE}/{sample.warehouse}", {"delivery_areas": [AREA]})
    [only] = (await read(sample, sample.warehouse))["delivery_areas"]
    assert only == new  # matched by its name
    await sample.put(f"{BASE}/{sample.warehouse}", {"delivery_areas": [{"area_name": "Capital", "delivery_time": 7}]})
    assert (await read(sample, sample.warehouse))["delivery_areas"] == [new | {"delivery_time": 7}]
    await sample.put(f"{BASE}/{sample.warehouse}", {"delivery_areas": [AREA | {"area_name": "Outra"}]})
    [other] = (await read(sample, sample.warehouse))["delivery_areas"]
    assert other["area_id"] not in (existing["area_id"], new["area_id"])
    await sample.put(f"{BASE}/{sample.warehouse}", {"delivery_areas": [], "user_groups": []})
    warehouse = await read(sample, sample.warehouse)
    assert (warehouse["delivery_areas"], warehouse["user_groups"]) == ([], [])


async def test_a_warehouse_is_created_from_the_record_of_another(sample: SampleStore) -> None:
    """The ids of its areas name those of the other warehouse, which stays as it is."""
    record = (await sample.get(f"{BASE}/{sample.warehouse}")).body
    assert record["delivery_areas"]
    assert record["user_groups"]
    created = await sample.post(BASE, record)
    assert created.status == 201, created.raw
    copy = (await sample.get(f"{BASE}/{created.body['warehouse_id']}")).body
    areas = [area | {"area_id": None} for area in copy["delivery_areas"]]
    assert areas == [area | {"area_id": None} for area in record["delivery_areas"]]
    assert copy["user_groups"] == record["user_groups"]
    assert (await sample.get(f"{BASE}/{sample.warehouse}")).body["delivery_areas"] == record["delivery_areas"]


async def test_deleting_a_warehouse_deletes_its_areas_and_groups(sample):
    answer = await sample.delete(f"{BASE}/{sample.warehouse}")
    assert (answer.status, answer.raw) == (204, b"")
    for method, path in (
        ("GET", ""),
        ("PUT", ""),
        ("DELETE", ""),
        ("GET", "/delivery_areas"),
        ("POST", "/delivery_areas"),
        ("PUT", f"/delivery_areas/{sample.delivery_area}"),
        ("GET", "/user_groups"),
        ("DELETE", f"/user_groups/{sample.wholesale}"),
    ):
        body = AREA if method in ("POST", "PUT") else None
        answer = await sample.request(method, f"{BASE}/{sample.warehouse}{path}", body)
        assert (answer.status, answer.body) == (404, {"status": 404, "message": "Warehouse not found"}), path
    assert str(sample.warehouse) not in await listed(sample, "status=D")


# --- Default warehouse -------------------------------------------------------------------------------------------------------


async def defaults(sample: SampleStore, company: Any) -> set[str]:
    return await listed(sample, f"is_default=Y&company_id={company}")


async def test_each_vendor_has_one_default(sample):
    assert await defaults(sample, 0) == {str(sample.warehouse)}
    second = await create(sample, is_default="Y")
    assert await defaults(sample, 0) == {second}
    theirs = await create(sample, is_default="Y", company_id=sample.rival.number)
    assert await defaults(sample, 0) == {second}
    assert await defaults(sample, sample.rival) == {theirs}
    await sample.put(f"{BASE}/{sample.depot}", {"is_default": "Y"})
    assert await defaults(sample, sample.rival) == {str(sample.depot)}
    await sample.put(f"{BASE}/{second}", {"company_id": sample.rival.number})
    assert await defaults(sample, 0) == set()
    assert await defaults(sample, sample.rival) == {second}
    await sample.delete(f"{BASE}/{second}")
    assert await defaults(sample, sample.rival) == set()


async def test_concurrent_defaults_leave_one(sample):
    answers = await asyncio.gather(*(sample.post(BASE, {"name": f"n {n}", "is_default": "Y"}) for n in range(8)))
    assert {answer.status for answer in answers} == {201}
    assert len(await defaults(sample, 0)) == 1


# --- Filters -----------------------------------------------------------------------------------------------------------------


async def test_the_documented_filters(sample):
    for query, expected in (
        ("status=active", {sample.depot}),
        ("status=D", {sample.warehouse}),
        ("status=Z", set()),
        (f"company_id={sample.rival}", {sample.depot}),
        ("company_id=0", {sample.warehouse}),
        ("state=pe", {sample.warehouse}),
        ("state=SP", set()),
        ("city=RECIFE", {sample.warehouse}),
        ("q=galpao", {sample.warehouse}),
        ("q=rec", {sample.warehouse}),
        ("q=lua", {sample.depot}),
        ("q=%25", set()),
        ("zipcode=50010-000", {sample.warehouse}),
        ("zipcode=56999999", {sample.warehouse}),
        ("zipcode=57000000", set()),
        ("zipcode=abc", set()),
        ("zipcode=5001000", set()),
        ("zipcode=50010000&state=PE&status=D", {sample.warehouse}),
        ("zipcode=50010000&state=SP", set()),
    ):
        assert await listed(sample, query) == {str(warehouse) for warehouse in expected}, query


@pytest.mark.parametrize(
    "area, inside, outside",
    [
        ({"zipcodes": [{"zipcode_from": "01000000", "zipcode_to": "01999999"}]}, "01310100", "02000000"),
        ({"states": ["SP"]}, "01310100", "20000000"),
        ({"states": ["Sao Paulo"]}, "01310100", "20000000"),
        ({"states": ["DF"]}, "70040010", "72900000"),
        # Ranges take precedence over states and cities.
        (
            {
                "states": ["SP"],
                "cities": ["São Paulo"],
                "zipcodes": [{"zipcode_from": "01000000", "zipcode_to": "01999999"}],
            },
            "01310100",
            "06000000",
        ),
        ({}, "69900000", "abc"),
    ],
)
async def test_a_warehouse_covers_the_ceps_of_its_areas(sample, area, inside, outside):
    number = await create(sample, delivery_areas=[{"area_name": "x"} | area])
    assert number in await listed(sample, f"zipcode={inside}")
    assert number not in await listed(sample, f"zipcode={outside}")
    await sample.put(f"{BASE}/{number}", {"delivery_areas": [{"area_name": "x", "status": "D"} | area]})
    assert number not in await listed(sample, f"zipcode={inside}")


async def test_a_cep_does_not_match_cities(sample):
    number = await create(sample, delivery_areas=[{"area_name": "x", "states": ["SP"], "cities": ["Santos"]}])
    assert number not in await listed(sample, "zipcode=01310100")


# --- Areas -------------------------------------------------------------------------------------------------------------------


async def areas(sample: SampleStore, query: str = "") -> Any:
    answer = await sample.get(f"{BASE}/{sample.warehouse}/delivery_areas{query}")
    assert answer.status == 200, answer.raw
    assert set(answer.body) == {"delivery_areas", "params"}
    return answer.body


async def test_an_area_is_added_updated_and_removed(sample):
    path = f"{BASE}/{sample.warehouse}/delivery_areas"
    created = await sample.post(path, AREA)
    assert (created.status, set(created.body)) == (201, {"area_id"})
    number = created.body["area_id"]
    body = await areas(sample)
    assert [area["area_id"] for area in body["delivery_areas"]] == [str(sample.delivery_area), number]
    assert body["delivery_areas"][1] == AREA | {"area_id": number}
    assert body["params"]["total_items"] == 2
    assert (await read(sample, sample.warehouse))["delivery_areas"] == body["delivery_areas"]

    changed = await sample.put(f"{path}/{number}", {"delivery_time": "48", "cities": []})
    assert (changed.status, changed.body) == (200, {"area_id": number})
    after = (await areas(sample))["delivery_areas"][1]
    assert after == AREA | {"area_id": number, "delivery_time": 48, "cities": []}
    await sample.put(f"{path}/{number}", {"zipcodes": [{"zipcode_from": 1310100, "zipcode_to": "01310-200"}]})
    [zipcodes] = (await areas(sample))["delivery_areas"][1]["zipcodes"]
    assert zipcodes == {"zipcode_from": "01310100", "zipcode_to": "01310-200"}

    deleted = await sample.delete(f"{path}/{number}")
    assert (deleted.status, deleted.raw) == (204, b"")
    for method in ("PUT", "DELETE"):
        missing = await sample.request(method, f"{path}/{number}", AREA if method == "PUT" else None)
        assert (missing.status, missing.body["message"]) == (404, "Delivery area not found"), method


async def test_areas_are_a_paginated_filtered_array(sample):
    for number in range(3):
        await sample.post(f"{BASE}/{sample.warehouse}/delivery_areas", {"area_name": f"n {number}"})
    body = await areas(sample, "?items_per_page=2&page=2")
    assert [area["area_name"] for area in body["delivery_areas"]] == ["n 1", "n 2"]
    assert body["params"]["total_items"] == 4
    filtered = (await areas(sample, "?area_name=n%201"))["delivery_areas"]
    assert [area["area_name"] for area in filtered] == ["n 1"]
    assert (await areas(sample, "?status=Z"))["delivery_areas"] == []


@pytest.mark.parametrize(
    "area, message",
    [
        ({"area_name": None}, "area_name is required"),
        ({"area_name": ""}, "area_name is required"),
        ({"states": ["XX"]}, "states holds 'XX'; expected states of Brazil such as SP"),
        ({"states": ["Paulo"]}, "states holds 'Paulo'; expected states of Brazil such as SP"),
        ({"states": [["SP"]]}, "states is ['SP']; expected a text"),
        ({"status": "Z"}, "status is 'Z'; expected one of A, D"),
        ({"delivery_time": -1}, "delivery_time is -1; expected a whole number from 0 to 87600"),
        ({"delivery_time": "soon"}, "delivery_time is 'soon'; expected a whole number"),
        ({"zipcodes": ["01000-000"]}, None),
        ({"zipcodes": [{"zipcode_from": "01000-000"}]}, "zipcodes: zipcode_to is required"),
        (
            {"zipcodes": [{"zipcode_from": "x", "zipcode_to": "01000-000"}]},
            "zipcodes holds a zipcode_from that is 'x'; expected a CEP of 8 digits",
        ),
        (
            {"zipcodes": [{"zipcode_from": "02000-000", "zipcode_to": "01000-000"}]},
            "zipcodes holds a zipcode_from, 02000-000, above its zipcode_to, 01000-000",
        ),
        (
            {
                "zipcodes": [
                    {"zipcode_from": "01000-000", "zipcode_to": "02000-000"},
                    {"zipcode_from": "02000-000", "zipcode_to": "03000-000"},
                ]
            },
            "zipcodes holds ranges that overlap: 01000-000 to 02000-000 and 02000-000 to 03000-000",
        ),
    ],
)
async def test_an_invalid_area_is_rejected_on_every_route(sample, area, message):
    before = (await sample.get(BASE)).body
    body = {"area_name": "x"} | area
    answers = [
        await sample.post(f"{BASE}/{sample.warehouse}/delivery_areas", body),
        await sample.post(BASE, {"name": "x", "delivery_areas": [AREA, body]}),
        await sample.put(f"{BASE}/{sample.depot}", {"name": "x", "delivery_areas": [body]}),
    ]
    if "area_name" not in area:
        answers.append(await sample.put(f"{BASE}/{sample.warehouse}/delivery_areas/{sample.delivery_area}", area))
    for answer in answers:
        assert (answer.status, answer.body["status"]) == (400, 400), answer.raw
        assert message is None or answer.body["message"] == message
    assert (await sample.get(BASE)).body == before


async def test_two_areas_may_have_the_same_range(sample):
    number = await create(sample, delivery_areas=[AREA, AREA | {"area_name": "Outra"}])
    assert len((await read(sample, number))["delivery_areas"]) == 2


async def test_another_warehouses_area_is_not_found(sample):
    path = f"{BASE}/{sample.depot}/delivery_areas/{sample.delivery_area}"
    for area_path in (path, path.replace(str(sample.delivery_area), sample.delivery_area.id)):
        assert (await sample.put(area_path, {"delivery_time": 1})).status == 404
        assert (await sample.delete(area_path)).status == 404
    refused = await sample.put(f"{BASE}/{sample.depot}", {"delivery_areas": [{"area_id": str(sample.delivery_area)}]})
    assert (refused.status, refused.body["message"]) == (400, f"area_id '{sample.delivery_area}' not found")


# --- Groups ------------------------------------------------------------------------------------------------------------------


async def test_a_group_is_added_updated_and_removed(sample):
    path = f"{BASE}/{sample.warehouse}/user_groups"
    created = await sample.post(path, {"usergroup_id": sample.team.id, "priority": "4", "allocation_type": "P"})
    assert (created.status, created.body) == (201, {"usergroup_id": str(sample.team)})
    body = (await sample.get(path)).body
    assert set(body) == {"user_groups", "params"}
    assert body["user_groups"][1] == {
        "usergroup_id": str(sample.team),
        "usergroup_name": "Equipe",
        "priority": 4,
        "allocation_type": "P",
        "status": "A",
    }
    duplicate = await sample.post(path, {"usergroup_id": sample.team.number})
    assert (duplicate.status, duplicate.body["status"]) == (400, 400)
    changed = await sample.put(f"{path}/{sample.team}", {"allocation_type": "E", "status": "disabled"})
    assert (changed.status, changed.body) == (200, {"usergroup_id": str(sample.team)})
    after = (await sample.get(path)).body["user_groups"][1]
    assert (after["allocation_type"], after["status"], after["priority"]) == ("E", "D", 4)
    deleted = await sample.delete(f"{path}/{sample.team.id}")
    assert (deleted.status, deleted.raw) == (204, b"")
    for method in ("PUT", "DELETE"):
        missing = await sample.request(method, f"{path}/{sample.team}", {} if method == "PUT" else None)
        assert (missing.status, missing.body["message"]) == (404, "Usergroup not found"), method


@pytest.mark.parametrize(
    "group, message",
    [
        ({"usergroup_id": None}, "usergroup_id is required"),
        ({"usergroup_id": UNKNOWN_NUMBER}, f"usergroup '{UNKNOWN_NUMBER}' not found"),
        ({"usergroup_id": UNKNOWN_ID}, f"usergroup '{UNKNOWN_ID}' not found"),
        ({"usergroup_id": "x"}, "usergroup_id is 'x'; expected an id"),
        ({"allocation_type": "Z"}, "allocation_type is 'Z'; expected one of P, E"),
        ({"priority": "high"}, "priority is 'high'; expected a whole number"),
        ({"status": "Z"}, "status is 'Z'; expected one of A, D"),
    ],
)
async def test_an_invalid_group_is_rejected(sample, group, message):
    path = f"{BASE}/{sample.warehouse}/user_groups"
    answer = await sample.post(path, {"usergroup_id": sample.team.number} | group)
    assert (answer.status, answer.body) == (400, {"status": 400, "message": message})
    assert len((await sample.get(path)).body["user_groups"]) == 1


async def test_a_duplicate_group_is_rejected(sample):
    group = {"usergroup_id": sample.wholesale.number}
    answer = await sample.post(BASE, {"name": "x", "user_groups": [group, {"usergroup_id": sample.wholesale.id}]})
    assert (answer.status, answer.body["message"]) == (400, "user_groups names a usergroup twice")


# --- Errors ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body, message",
    [
        ({"name": None}, "name is required"),
        ({"name": ""}, "name is required"),
        ({"state": "XX"}, "state is 'XX'; expected a state of Brazil such as SP"),
        ({"country": "Brasil"}, "country is 'Brasil'; expected a country's code of two letters"),
        ({"status": "H"}, "status is 'H'; expected one of A, D"),
        ({"email": "x"}, "email is 'x'; expected an e-mail address"),
        ({"latitude": "north"}, "latitude is 'north'; expected degrees between -90 and 90"),
        ({"longitude": "181"}, "longitude is '181'; expected degrees between -180 and 180"),
        ({"is_default": "maybe"}, "is_default is 'maybe'; expected Y or N"),
        ({"priority": 1.5}, "priority is 1.5; expected a whole number"),
        ({"shipping_delay": -1}, "shipping_delay is -1; expected a whole number from 0 to 3650"),
        (
            {"min_items_in_box": 5, "max_items_in_box": 2},
            "min_items_in_box is 5; expected at most max_items_in_box, 2",
        ),
        ({"company_id": UNKNOWN_NUMBER}, f"company_id '{UNKNOWN_NUMBER}' not found"),
        ({"delivery_areas": "x"}, "delivery_areas is 'x'; expected an array"),
        ({"delivery_areas": [1]}, "delivery_areas holds 1; expected objects"),
        ({"user_groups": [{}]}, "usergroup is required"),
    ],
)
async def test_invalid_input_is_rejected_with_the_legacy_field_name(sample, body, message):
    answer = await sample.post(BASE, {"name": "x"} | body)
    assert (answer.status, answer.body) == (400, {"status": 400, "message": message})


async def test_states_of_other_countries_are_free_text(sample):
    number = await create(sample, country="PT", state="Lisboa")
    assert (await read(sample, number))["state"] == "LISBOA"
    refused = await sample.put(f"{BASE}/{number}", {"country": "BR"})
    assert refused.status == 400


async def test_another_stores_records_cannot_be_referred_to(sample, other_sample):
    for body in (
        {"company_id": other_sample.vendor.id},
        {"user_groups": [{"usergroup_id": other_sample.wholesale.id}]},
    ):
        assert (await sample.post(BASE, {"name": "x"} | body)).status == 400
    path = f"{BASE}/{sample.warehouse}/user_groups"
    assert (await sample.post(path, {"usergroup_id": other_sample.wholesale.id})).status == 400


async def test_other_methods_are_not_allowed(sample):
    for path, allowed in (
        (BASE, "GET, HEAD, POST"),
        (f"{BASE}/{sample.warehouse}", "DELETE, GET, HEAD, PUT"),
        (f"{BASE}/{sample.warehouse}/delivery_areas", "GET, HEAD, POST"),
        (f"{BASE}/{sample.warehouse}/delivery_areas/{sample.delivery_area}", "DELETE, PUT"),
        (f"{BASE}/{sample.warehouse}/user_groups/{sample.wholesale}", "DELETE, PUT"),
    ):
        answer = await sample.patch(path, {})
        assert (answer.status, answer.headers["Allow"]) == (405, allowed)
        assert answer.body == {"status": 405, "message": "Method not allowed"}, (path, allowed)


async def test_every_change_is_audited(sample):
    number = await create(sample)
    await sample.put(f"{BASE}/{number}", {"name": "y"})
    created = (await sample.post(f"{BASE}/{number}/delivery_areas", AREA)).body["area_id"]
    await sample.delete(f"{BASE}/{number}/delivery_areas/{created}")
    await sample.post(f"{BASE}/{number}/user_groups", {"usergroup_id": sample.team.number})
    await sample.delete(f"{BASE}/{number}")
    actions = await sample.rows(
        "select action from audit_entries where tenant_id = $1 and subject_type = 'warehouse' order by id",
        sample.store.id,
    )
    assert [row["action"] for row in actions] == [
        "warehouse.created",
        "warehouse.updated",
        "warehouse.area_added",
        "warehouse.area_removed",
        "warehouse.usergroup_added",
        "warehouse.deleted",
    ]
