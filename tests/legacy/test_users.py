"""Check the user routes and the memberships of usergroups."""

from typing import Any

import pytest

from tests.harness.records import UNKNOWN_ID, UNKNOWN_NUMBER
from tests.harness.sample_store import SampleStore

NEW = {"email": "nova@example.com", "password": "a good long password"}
CNPJ = "11222333000181"


async def create(sample: SampleStore, **body: Any) -> str:
    answer = await sample.post("/api/users", NEW | body)
    assert answer.status == 201, answer.raw
    assert answer.body == {"user_id": answer.body["user_id"], "profile_id": answer.body["user_id"]}
    return answer.body["user_id"]


async def read(sample: SampleStore, user_id: Any) -> dict[str, Any]:
    answer = await sample.get(f"/api/users/{user_id}")
    assert answer.status == 200, answer.raw
    return answer.body


async def test_a_user_is_created_with_defaults(sample):
    user = await read(sample, await create(sample))
    assert user.pop("user_id").isdigit()
    assert user.pop("timestamp").isdigit()
    assert user == {
        "email": "nova@example.com",
        "user_type": "C",
        "status": "A",
        "firstname": "",
        "lastname": "",
        "phone": "",
        "company_id": "0",
        "company": "",
        "company_name": "",
        "CNPJ": "",
        "CPF": "",
        "is_root": "N",
        "points": "0",
    }


@pytest.mark.parametrize(
    "name, value, expected",
    [
        ("email", "Outra@Example.COM", "outra@example.com"),
        ("firstname", "José", "José"),
        ("lastname", "Sá", "Sá"),
        ("phone", "+55 (81) 99999-0000", "81999990000"),
        ("phone", 81999990000, "81999990000"),
        ("phone", "", ""),
        ("status", "D", "D"),
        ("status", "disabled", "D"),
        ("status", "Pending", "P"),
        ("user_type", "A", "A"),
        ("user_type", "admin", "A"),
        ("user_type", "customer", "C"),
        ("company", "Padaria Sol", "Padaria Sol"),
        ("CNPJ", "11.222.333/0001-81", CNPJ),
        ("CNPJ", CNPJ, CNPJ),
        ("CNPJ", 1222333000181, "01222333000181"),
        ("CNPJ", "11222333000199", "11222333000199"),
        ("CNPJ", "12ABC34501DE35", "12ABC34501DE35"),
        ("CNPJ", None, ""),
        ("CPF", "529.982.247-25", "52998224725"),
    ],
)
async def test_a_field_is_read_back_after_create_and_update(sample, name, value, expected):
    user = await create(sample, **{name: value})
    assert (await read(sample, user))[name] == expected
    if name == "email":
        return
    answer = await sample.put(f"/api/users/{sample.bia}", {name: value})
    assert (answer.status, answer.body) == (200, {"user_id": str(sample.bia)})
    assert (await read(sample, sample.bia))[name] == expected


async def test_a_vendor_user_belongs_to_a_company(sample):
    user = await read(sample, await create(sample, user_type="vendor", company_id=str(sample.rival)))
    assert (user["user_type"], user["company_id"], user["company_name"]) == (
        "V",
        str(sample.rival),
        "Casa Lua",
    )
    await sample.put(f"/api/users/{user['user_id']}", {"company_id": sample.vendor.number})
    assert (await read(sample, user["user_id"]))["company_name"] == "Ateliê Sol"


async def test_the_owner_is_root(sample):
    assert (await read(sample, sample.owner))["is_root"] == "Y"


async def test_an_update_keeps_the_other_fields(sample):
    before = await read(sample, sample.caio)
    assert (await sample.put(f"/api/users/{sample.caio}", {"firstname": "Caio Júlio"})).status == 200
    assert await read(sample, sample.caio) == before | {"firstname": "Caio Júlio"}


async def test_updating_a_record_with_itself_changes_nothing(sample):
    for user in (sample.caio, sample.vendor_user, sample.staff):
        before = await read(sample, user)
        answer = await sample.put(f"/api/users/{user}", before)
        assert answer.status == 200, (user, answer.raw)
        assert await read(sample, user) == before


async def test_a_password_is_set_and_never_shown(sample):
    user = await create(sample, CNPJ=CNPJ)
    answer = await sample.post("/api/auth_tokens", {"email": NEW["email"], "password": NEW["password"]}, auth=None)
    assert answer.status == 201
    await sample.put(f"/api/users/{user}", {"password": "another long password"})
    answer = await sample.post("/api/auth_tokens", {"email": NEW["email"], "password": NEW["password"]}, auth=None)
    assert answer.status == 401
    assert "password" not in (await read(sample, user))


async def test_a_user_without_orders_is_erased_and_one_with_orders_hidden(sample):
    user = await create(sample)
    for deleted in (user, sample.caio):
        answer = await sample.delete(f"/api/users/{deleted}")
        assert (answer.status, answer.raw) == (204, b""), deleted
        for method, path in (("GET", ""), ("PUT", ""), ("DELETE", ""), ("GET", "/usergroups")):
            missing = await sample.request(method, f"/api/users/{deleted}{path}", {} if method == "PUT" else None)
            assert (missing.status, missing.body) == (404, {"status": 404, "message": "User not found"}), (
                deleted,
                method,
                path,
            )
    assert (await sample.get(f"/api/orders/{sample.order}")).body["email"] == "caio@example.com"


@pytest.mark.parametrize("person", ["owner"])
async def test_the_owner_and_the_caller_cannot_be_deleted(sample, person):
    answer = await sample.delete(f"/api/users/{getattr(sample, person)}")
    assert answer.status == 422
    assert set(answer.body) == {"status", "message"}


@pytest.mark.parametrize("empty", ["", None])
async def test_an_empty_password_of_an_update_leaves_it(sample, empty):
    """As in CS-Cart: forms and connectors send the field of a person whose password doesn't change."""
    user = (await sample.post("/api/users", NEW)).body["user_id"]
    answer = await sample.put(f"/api/users/{user}", {"firstname": "Ana", "password": empty})
    assert (answer.status, answer.body) == (200, {"user_id": user})
    assert (await sample.get(f"/api/users/{user}")).body["firstname"] == "Ana"
    credentials = {"email": NEW["email"], "password": NEW["password"]}
    assert (await sample.post("/api/auth_tokens", credentials, auth=None)).status == 201
    refused = await sample.put(f"/api/users/{user}", {"password": " "})
    assert (refused.status, refused.body["message"]) == (400, "password has 1 characters; expected 8 to 128")


@pytest.mark.parametrize(
    "body, message",
    [
        ({"email": None}, "email is required"),
        ({"email": ""}, "email is required"),
        ({"password": None}, "password is required"),
        ({"password": ""}, "password is required"),
        ({"email": "x"}, "email is 'x'; expected an address such as ana@example.com"),
        ({"email": {}}, "email is {}; expected a text"),
        ({"user_type": "Z"}, "user_type is 'Z'; expected one of A, V, C"),
        ({"status": "H"}, "status is 'H'; expected one of A, D, P"),
        ({"CNPJ": "123"}, "CNPJ is '123'; expected 14 digits or letters"),
        ({"CPF": "52998224724"}, "CPF is '52998224724'; expected a CPF"),
        ({"company_id": UNKNOWN_NUMBER}, f"company_id '{UNKNOWN_NUMBER}' not found"),
        ({"company_id": "x"}, "company_id is 'x'; expected an id"),
        ({"user_type": "V"}, "company_id is required for a user of type V"),
    ],
)
async def test_invalid_input_is_rejected_with_the_legacy_field_name(sample, body, message):
    answer = await sample.post("/api/users", NEW | body)
    assert (answer.status, answer.body) == (400, {"status": 400, "message": message})


async def test_a_short_password_is_rejected(sample):
    answer = await sample.post("/api/users", NEW | {"password": "short"})
    assert answer.status == 400
    assert answer.body["message"].startswith("password ")


async def test_a_taken_email_is_rejected(sample):
    for answer in (
        await sample.post("/api/users", NEW | {"email": "CAIO@example.com"}),
        await sample.put(f"/api/users/{sample.bia}", {"email": "caio@example.com"}),
    ):
        assert (answer.status, answer.body["message"]) == (
            400,
            "email is 'caio@example.com', which another user has",
        )


# --- Usergroups --------------------------------------------------------------------------------------------------------------


async def test_the_usergroups_of_a_user_are_listed(sample):
    answer = await sample.get(f"/api/users/{sample.caio}/usergroups")
    assert (answer.status, answer.body) == (
        200,
        {
            "usergroups": {str(sample.wholesale): {"usergroup_id": str(sample.wholesale), "status": "A"}},
            "params": {"page": 1, "items_per_page": 10, "total_items": 1},
        },
    )
    assert (await sample.get(f"/api/users/{sample.bia}/usergroups")).body["usergroups"] == {}


async def test_the_usergroups_of_a_user_are_filtered(sample):
    path = f"/api/users/{sample.caio}/usergroups"
    for query, total in (
        (f"usergroup_id={sample.wholesale}", 1),
        (f"usergroup_id={sample.team}", 0),
        ("status=A", 1),
        ("status=D", 0),
        ("usergroup_id=x", 0),
        ("page=2", 1),
    ):
        body = (await sample.get(f"{path}?{query}")).body
        assert body["params"]["total_items"] == total, query
        assert len(body["usergroups"]) == (0 if query == "page=2" else total), query


async def test_memberships_are_a_bare_object_in_the_cscart_form(new_sample):
    sample = await new_sample(legacy_lists="cscart")
    answer = await sample.get(f"/api/users/{sample.caio}/usergroups")
    assert answer.body == {str(sample.wholesale): {"usergroup_id": str(sample.wholesale), "status": "A"}}
    assert (await sample.get(f"/api/users/{sample.bia}/usergroups")).body == {}


@pytest.mark.parametrize(
    "status, code",
    [("A", "A"), ("F", "F"), ("p", "P"), ("D", "D"), ("active", "A"), ("available", "F"), ("declined", "D")],
)
async def test_a_membership_is_set_by_code_or_label(sample, status, code):
    for user in (sample.caio, sample.bia):
        answer = await sample.put(f"/api/users/{user}/usergroups/{sample.wholesale}", {"status": status})
        assert (answer.status, answer.body) == (
            200,
            {"user_id": str(user), "usergroup_id": str(sample.wholesale), "status": code},
        )
    groups = (await sample.get(f"/api/users/{sample.bia}/usergroups")).body["usergroups"]
    assert groups[str(sample.wholesale)]["status"] == code


async def test_a_membership_is_addressed_by_uuids(sample):
    path = f"/api/users/{sample.bia.id}/usergroups/{sample.wholesale.id.upper()}"
    answer = await sample.put(path, {"status": "A"})
    assert answer.body == {"user_id": str(sample.bia), "usergroup_id": str(sample.wholesale), "status": "A"}


@pytest.mark.parametrize("body", [{}, {"status": None}, {"status": ""}])
async def test_a_membership_requires_a_status(sample, body):
    answer = await sample.put(f"/api/users/{sample.bia}/usergroups/{sample.wholesale}", body)
    assert (answer.status, answer.body) == (400, {"status": 400, "message": "status is required"})


async def test_memberships_have_their_own_status_codes(sample):
    answer = await sample.put(f"/api/users/{sample.bia}/usergroups/{sample.wholesale}", {"status": "Z"})
    assert (answer.status, answer.body["message"]) == (400, "status is 'Z'; expected one of A, F, P, D")


@pytest.mark.parametrize("missing", ["999999999", "abc", "0", UNKNOWN_ID])
async def test_a_membership_of_an_unknown_user_or_usergroup_is_not_found(sample, missing):
    answer = await sample.put(f"/api/users/{missing}/usergroups/{sample.wholesale}", {"status": "A"})
    assert (answer.status, answer.body) == (404, {"status": 404, "message": "User not found"})
    answer = await sample.put(f"/api/users/{sample.bia}/usergroups/{missing}", {"status": "A"})
    assert (answer.status, answer.body) == (404, {"status": 404, "message": "Usergroup not found"})


async def test_a_customer_cannot_join_an_admin_usergroup(sample):
    answer = await sample.put(f"/api/users/{sample.bia}/usergroups/{sample.team}", {"status": "A"})
    assert answer.status == 422
