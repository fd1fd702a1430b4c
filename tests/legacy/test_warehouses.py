"""Check the routes of warehouses, their delivery areas and their usergroups."""

import asyncio
from typing import Any

import pytest

from tests.shop import NO_NUMBER, NOBODY, Shop

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


async def create(shop: Shop, **body: Any) -> str:
    answer = await shop.post(BASE, {"name": "Galpão"} | body)
    assert answer.status == 201, answer.raw
    assert set(answer.body) == {"warehouse_id"}
    return answer.body["warehouse_id"]


async def read(shop: Shop, warehouse: Any) -> dict[str, Any]:
    answer = await shop.get(f"{BASE}/{warehouse}")
    assert answer.status == 200, answer.raw
    return answer.body


async def listed(shop: Shop, query: str) -> set[str]:
    answer = await shop.get(f"{BASE}?{query}")
    assert answer.status == 200, answer.raw
    assert answer.body["params"]["total_items"] == len(answer.body["warehouses"])
    return set(answer.body["warehouses"])


async def test_a_warehouse_is_created_with_defaults(shop):
    number = await create(shop)
    warehouse = await read(shop, number)
    for name in ("created_at", "updated_at"):
        moment = warehouse.pop(name)
        assert len(moment) == len("2026-11-21T00:00:00Z")
        assert moment.endswith("Z")
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
async def test_a_field_is_read_back_after_create_and_update(shop, name, value, expected):
    assert (await read(shop, await create(shop, **{name: value})))[name] == expected
    before = await read(shop, shop.depot)
    answer = await shop.put(f"{BASE}/{shop.depot}", {name: value})
    assert (answer.status, answer.body) == (200, {"warehouse_id": str(shop.depot)})
    after = await read(shop, shop.depot)
    for record in (before, after):
        record.pop("updated_at")
    assert after == before | {name: expected}


async def test_a_warehouse_may_belong_to_a_vendor(shop):
    number = await create(shop, company_id=shop.vendor.number)
    assert (await read(shop, number))["company_id"] == str(shop.vendor)
    await shop.put(f"{BASE}/{number}", {"company_id": shop.rival.id})
    assert (await read(shop, number))["company_id"] == str(shop.rival)
    await shop.put(f"{BASE}/{number}", {"company_id": 0})
    assert (await read(shop, number))["company_id"] == "0"


async def test_a_warehouse_is_created_with_areas_and_groups(shop):
    group = {"usergroup_id": shop.wholesale.number, "priority": 3, "allocation_type": "exclusive"}
    number = await create(shop, delivery_areas=[AREA], user_groups=[group])
    warehouse = await read(shop, number)
    [area] = warehouse["delivery_areas"]
    assert area.pop("area_id").isdigit()
    assert area == AREA
    assert warehouse["user_groups"] == [
        {
            "usergroup_id": str(shop.wholesale),
            "usergroup_name": "Atacado",
            "priority": 3,
            "allocation_type": "E",
            "status": "A",
        }
    ]


async def test_a_list_row_is_the_complete_record(shop):
    rows = (await shop.get(f"{BASE}?warehouse_id={shop.warehouse}")).body["warehouses"]
    assert rows[str(shop.warehouse)] == await read(shop, shop.warehouse)


async def test_updating_a_record_with_itself_changes_nothing(shop):
    for warehouse in (shop.warehouse, shop.depot):
        before = await read(shop, warehouse)
        assert (await shop.put(f"{BASE}/{warehouse}", before)).status == 200
        after = await read(shop, warehouse)
        for record in (before, after):
            record.pop("updated_at")
        assert after == before


async def test_an_update_replaces_the_areas(shop):
    before = (await read(shop, shop.warehouse))["delivery_areas"][0]
    answer = await shop.put(
        f"{BASE}/{shop.warehouse}",
        {"delivery_areas": [{"area_id": before["area_id"], "delivery_time": 12}, AREA]},
    )
    assert answer.status == 200, answer.raw
    existing, new = (await read(shop, shop.warehouse))["delivery_areas"]
    assert existing == before | {"delivery_time": 12}
    assert new["area_name"] == "Capital"
    await shop.put(f"{BASE}/{shop.warehouse}", {"delivery_areas": [AREA]})
    [only] = (await read(shop, shop.warehouse))["delivery_areas"]
    assert only["area_id"] not in (existing["area_id"], new["area_id"])
    await shop.put(f"{BASE}/{shop.warehouse}", {"delivery_areas": [], "user_groups": []})
    warehouse = await read(shop, shop.warehouse)
    assert (warehouse["delivery_areas"], warehouse["user_groups"]) == ([], [])


async def test_deleting_a_warehouse_deletes_its_areas_and_groups(shop):
    answer = await shop.delete(f"{BASE}/{shop.warehouse}")
    assert (answer.status, answer.raw) == (204, b"")
    for method, path in (
        ("GET", ""),
        ("PUT", ""),
        ("DELETE", ""),
        ("GET", "/delivery_areas"),
        ("POST", "/delivery_areas"),
        ("PUT", f"/delivery_areas/{shop.delivery_area}"),
        ("GET", "/user_groups"),
        ("DELETE", f"/user_groups/{shop.wholesale}"),
    ):
        body = AREA if method in ("POST", "PUT") else None
        answer = await shop.call(method, f"{BASE}/{shop.warehouse}{path}", body)
        assert (answer.status, answer.body) == (404, {"status": 404, "message": "Warehouse not found"}), path
    assert str(shop.warehouse) not in await listed(shop, "status=D")


# --- Default warehouse -------------------------------------------------------------------------------------------------------


async def defaults(shop: Shop, company: Any) -> set[str]:
    return await listed(shop, f"is_default=Y&company_id={company}")


async def test_each_vendor_has_one_default(shop):
    assert await defaults(shop, 0) == {str(shop.warehouse)}
    second = await create(shop, is_default="Y")
    assert await defaults(shop, 0) == {second}
    theirs = await create(shop, is_default="Y", company_id=shop.rival.number)
    assert await defaults(shop, 0) == {second}
    assert await defaults(shop, shop.rival) == {theirs}
    await shop.put(f"{BASE}/{shop.depot}", {"is_default": "Y"})
    assert await defaults(shop, shop.rival) == {str(shop.depot)}
    await shop.put(f"{BASE}/{second}", {"company_id": shop.rival.number})
    assert await defaults(shop, 0) == set()
    assert await defaults(shop, shop.rival) == {second}
    await shop.delete(f"{BASE}/{second}")
    assert await defaults(shop, shop.rival) == set()


async def test_concurrent_defaults_leave_one(shop):
    answers = await asyncio.gather(
        *(shop.post(BASE, {"name": f"n {n}", "is_default": "Y"}) for n in range(8))
    )
    assert {answer.status for answer in answers} == {201}
    assert len(await defaults(shop, 0)) == 1


# --- Filters -----------------------------------------------------------------------------------------------------------------


async def test_the_documented_filters(shop):
    for query, expected in (
        ("status=active", {shop.depot}),
        ("status=D", {shop.warehouse}),
        ("status=Z", set()),
        (f"company_id={shop.rival}", {shop.depot}),
        ("company_id=0", {shop.warehouse}),
        ("state=pe", {shop.warehouse}),
        ("state=SP", set()),
        ("city=RECIFE", {shop.warehouse}),
        ("q=galpao", {shop.warehouse}),
        ("q=rec", {shop.warehouse}),
        ("q=lua", {shop.depot}),
        ("q=%25", set()),
        ("zipcode=50010-000", {shop.warehouse}),
        ("zipcode=56999999", {shop.warehouse}),
        ("zipcode=57000000", set()),
        ("zipcode=abc", set()),
        ("zipcode=5001000", set()),
        ("zipcode=50010000&state=PE&status=D", {shop.warehouse}),
        ("zipcode=50010000&state=SP", set()),
    ):
        assert await listed(shop, query) == {str(warehouse) for warehouse in expected}, query


@pytest.mark.parametrize(
    "area, inside, outside",
    [
        ({"zipcodes": [{"zipcode_from": "01000000", "zipcode_to": "01999999"}]}, "01310100", "02000000"),
        ({"states": ["SP"]}, "01310100", "20000000"),
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
async def test_a_warehouse_covers_the_ceps_of_its_areas(shop, area, inside, outside):
    number = await create(shop, delivery_areas=[{"area_name": "x"} | area])
    assert number in await listed(shop, f"zipcode={inside}")
    assert number not in await listed(shop, f"zipcode={outside}")
    await shop.put(f"{BASE}/{number}", {"delivery_areas": [{"area_name": "x", "status": "D"} | area]})
    assert number not in await listed(shop, f"zipcode={inside}")


async def test_a_cep_does_not_match_cities(shop):
    number = await create(shop, delivery_areas=[{"area_name": "x", "states": ["SP"], "cities": ["Santos"]}])
    assert number not in await listed(shop, "zipcode=01310100")


# --- Areas -------------------------------------------------------------------------------------------------------------------


async def areas(shop: Shop, query: str = "") -> Any:
    answer = await shop.get(f"{BASE}/{shop.warehouse}/delivery_areas{query}")
    assert answer.status == 200, answer.raw
    assert set(answer.body) == {"delivery_areas", "params"}
    return answer.body


async def test_an_area_is_added_updated_and_removed(shop):
    path = f"{BASE}/{shop.warehouse}/delivery_areas"
    created = await shop.post(path, AREA)
    assert (created.status, set(created.body)) == (201, {"area_id"})
    number = created.body["area_id"]
    body = await areas(shop)
    assert [area["area_id"] for area in body["delivery_areas"]] == [str(shop.delivery_area), number]
    assert body["delivery_areas"][1] == AREA | {"area_id": number}
    assert body["params"]["total_items"] == 2
    assert (await read(shop, shop.warehouse))["delivery_areas"] == body["delivery_areas"]

    changed = await shop.put(f"{path}/{number}", {"delivery_time": "48", "cities": []})
    assert (changed.status, changed.body) == (200, {"area_id": number})
    after = (await areas(shop))["delivery_areas"][1]
    assert after == AREA | {"area_id": number, "delivery_time": 48, "cities": []}
    await shop.put(f"{path}/{number}", {"zipcodes": [{"zipcode_from": 1310100, "zipcode_to": "01310-200"}]})
    [zipcodes] = (await areas(shop))["delivery_areas"][1]["zipcodes"]
    assert zipcodes == {"zipcode_from": "01310100", "zipcode_to": "01310-200"}

    deleted = await shop.delete(f"{path}/{number}")
    assert (deleted.status, deleted.raw) == (204, b"")
    for method in ("PUT", "DELETE"):
        missing = await shop.call(method, f"{path}/{number}", AREA if method == "PUT" else None)
        assert (missing.status, missing.body["message"]) == (404, "Delivery area not found")


async def test_areas_are_a_paginated_filtered_array(shop):
    for number in range(3):
        await shop.post(f"{BASE}/{shop.warehouse}/delivery_areas", {"area_name": f"n {number}"})
    body = await areas(shop, "?items_per_page=2&page=2")
    assert [area["area_name"] for area in body["delivery_areas"]] == ["n 1", "n 2"]
    assert body["params"]["total_items"] == 4
    filtered = (await areas(shop, "?area_name=n%201"))["delivery_areas"]
    assert [area["area_name"] for area in filtered] == ["n 1"]
    assert (await areas(shop, "?status=Z"))["delivery_areas"] == []


@pytest.mark.parametrize(
    "area, message",
    [
        ({"area_name": None}, "area_name is required"),
        ({"area_name": ""}, "area_name is required"),
        ({"states": ["XX"]}, "states holds 'XX'; expected states of Brazil such as SP"),
        ({"states": ["São Paulo"]}, "states holds 'São Paulo'; expected states of Brazil such as SP"),
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
async def test_an_invalid_area_is_rejected_on_every_route(shop, area, message):
    before = (await shop.get(BASE)).body
    body = {"area_name": "x"} | area
    answers = [
        await shop.post(f"{BASE}/{shop.warehouse}/delivery_areas", body),
        await shop.post(BASE, {"name": "x", "delivery_areas": [AREA, body]}),
        await shop.put(f"{BASE}/{shop.depot}", {"name": "x", "delivery_areas": [body]}),
    ]
    if "area_name" not in area:
        answers.append(await shop.put(f"{BASE}/{shop.warehouse}/delivery_areas/{shop.delivery_area}", area))
    for answer in answers:
        assert (answer.status, answer.body["status"]) == (400, 400), answer.raw
        assert message is None or answer.body["message"] == message
    assert (await shop.get(BASE)).body == before


async def test_two_areas_may_have_the_same_range(shop):
    number = await create(shop, delivery_areas=[AREA, AREA | {"area_name": "Outra"}])
    assert len((await read(shop, number))["delivery_areas"]) == 2


async def test_another_warehouses_area_is_not_found(shop):
    path = f"{BASE}/{shop.depot}/delivery_areas/{shop.delivery_area}"
    for area_path in (path, path.replace(str(shop.delivery_area), shop.delivery_area.id)):
        assert (await shop.put(area_path, {"delivery_time": 1})).status == 404
        assert (await shop.delete(area_path)).status == 404
    refused = await shop.put(
        f"{BASE}/{shop.depot}", {"delivery_areas": [{"area_id": str(shop.delivery_area)}]}
    )
    assert (refused.status, refused.body["message"]) == (400, f"area_id '{shop.delivery_area}' not found")


# --- Groups ------------------------------------------------------------------------------------------------------------------


async def test_a_group_is_added_updated_and_removed(shop):
    path = f"{BASE}/{shop.warehouse}/user_groups"
    created = await shop.post(path, {"usergroup_id": shop.team.id, "priority": "4", "allocation_type": "P"})
    assert (created.status, created.body) == (201, {"usergroup_id": str(shop.team)})
    body = (await shop.get(path)).body
    assert set(body) == {"user_groups", "params"}
    assert body["user_groups"][1] == {
        "usergroup_id": str(shop.team),
        "usergroup_name": "Equipe",
        "priority": 4,
        "allocation_type": "P",
        "status": "A",
    }
    duplicate = await shop.post(path, {"usergroup_id": shop.team.number})
    assert (duplicate.status, duplicate.body["status"]) == (400, 400)
    changed = await shop.put(f"{path}/{shop.team}", {"allocation_type": "E", "status": "disabled"})
    assert (changed.status, changed.body) == (200, {"usergroup_id": str(shop.team)})
    after = (await shop.get(path)).body["user_groups"][1]
    assert (after["allocation_type"], after["status"], after["priority"]) == ("E", "D", 4)
    deleted = await shop.delete(f"{path}/{shop.team.id}")
    assert (deleted.status, deleted.raw) == (204, b"")
    for method in ("PUT", "DELETE"):
        missing = await shop.call(method, f"{path}/{shop.team}", {} if method == "PUT" else None)
        assert (missing.status, missing.body["message"]) == (404, "Usergroup not found")


@pytest.mark.parametrize(
    "group, message",
    [
        ({"usergroup_id": None}, "usergroup_id is required"),
        ({"usergroup_id": NO_NUMBER}, f"usergroup '{NO_NUMBER}' not found"),
        ({"usergroup_id": NOBODY}, f"usergroup '{NOBODY}' not found"),
        ({"usergroup_id": "x"}, "usergroup_id is 'x'; expected an id"),
        ({"allocation_type": "Z"}, "allocation_type is 'Z'; expected one of P, E"),
        ({"priority": "high"}, "priority is 'high'; expected a whole number"),
        ({"status": "Z"}, "status is 'Z'; expected one of A, D"),
    ],
)
async def test_an_invalid_group_is_rejected(shop, group, message):
    path = f"{BASE}/{shop.warehouse}/user_groups"
    answer = await shop.post(path, {"usergroup_id": shop.team.number} | group)
    assert (answer.status, answer.body) == (400, {"status": 400, "message": message})
    assert len((await shop.get(path)).body["user_groups"]) == 1


async def test_a_duplicate_group_is_rejected(shop):
    group = {"usergroup_id": shop.wholesale.number}
    answer = await shop.post(BASE, {"name": "x", "user_groups": [group, {"usergroup_id": shop.wholesale.id}]})
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
        ({"company_id": NO_NUMBER}, f"company_id '{NO_NUMBER}' not found"),
        ({"delivery_areas": "x"}, "delivery_areas is 'x'; expected an array"),
        ({"delivery_areas": [1]}, "delivery_areas holds 1; expected objects"),
        ({"user_groups": [{}]}, "usergroup is required"),
    ],
)
async def test_invalid_input_is_rejected_with_the_legacy_field_name(shop, body, message):
    answer = await shop.post(BASE, {"name": "x"} | body)
    assert (answer.status, answer.body) == (400, {"status": 400, "message": message})


async def test_states_of_other_countries_are_free_text(shop):
    number = await create(shop, country="PT", state="Lisboa")
    assert (await read(shop, number))["state"] == "LISBOA"
    refused = await shop.put(f"{BASE}/{number}", {"country": "BR"})
    assert refused.status == 400


async def test_another_stores_records_cannot_be_referred_to(shop, other_shop):
    for body in (
        {"company_id": other_shop.vendor.id},
        {"user_groups": [{"usergroup_id": other_shop.wholesale.id}]},
    ):
        assert (await shop.post(BASE, {"name": "x"} | body)).status == 400
    path = f"{BASE}/{shop.warehouse}/user_groups"
    assert (await shop.post(path, {"usergroup_id": other_shop.wholesale.id})).status == 400


async def test_other_methods_are_not_allowed(shop):
    for path, allowed in (
        (BASE, "GET, HEAD, POST"),
        (f"{BASE}/{shop.warehouse}", "DELETE, GET, HEAD, PUT"),
        (f"{BASE}/{shop.warehouse}/delivery_areas", "GET, HEAD, POST"),
        (f"{BASE}/{shop.warehouse}/delivery_areas/{shop.delivery_area}", "DELETE, PUT"),
        (f"{BASE}/{shop.warehouse}/user_groups/{shop.wholesale}", "DELETE, PUT"),
    ):
        answer = await shop.patch(path, {})
        assert (answer.status, answer.headers["Allow"]) == (405, allowed)
        assert answer.body == {"status": 405, "message": "Method not allowed"}


async def test_every_change_is_audited(shop):
    number = await create(shop)
    await shop.put(f"{BASE}/{number}", {"name": "y"})
    created = (await shop.post(f"{BASE}/{number}/delivery_areas", AREA)).body["area_id"]
    await shop.delete(f"{BASE}/{number}/delivery_areas/{created}")
    await shop.post(f"{BASE}/{number}/user_groups", {"usergroup_id": shop.team.number})
    await shop.delete(f"{BASE}/{number}")
    actions = await shop.rows(
        "select action from audit_entries where tenant_id = $1 and subject_type = 'warehouse' order by id",
        shop.store.id,
    )
    assert [row["action"] for row in actions] == [
        "warehouse.created",
        "warehouse.updated",
        "warehouse.area_added",
        "warehouse.area_removed",
        "warehouse.usergroup_added",
        "warehouse.deleted",
    ]
