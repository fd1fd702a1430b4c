"""The session of a browser: a cookie that only pages of the store's address can use (docs/reference/current.md#browser-sessions)."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kernel.errors import Unavailable
from resolvers.execute import execute
from tests.harness.http import Client, Response

PATH = "/api/v1/auth/browser-session"
ME = "/api/v1/auth/me"
HOST = "localhost"
REFUSED = {"error": "the request is not from a page of this address"}


def cookie_of(answer: Response) -> tuple[str, str, set[str]]:
    """Return name, value and attributes of the cookie that an answer sets."""
    pair, *attributes = answer.headers["Set-Cookie"].split("; ")
    name, _, value = pair.partition("=")
    return name, value, set(attributes)


async def ask(
    client: Client, method: str = "POST", body: Any = None, *, origin: str = "http://{host}", **headers: str
) -> Response:
    sent = {"Origin": origin.format(host=HOST), "Host": HOST, **headers}
    return await client.with_token(None).request(method, PATH, body, headers=sent)


@pytest.fixture
async def signed_in(new_client: Any) -> tuple[Client, str]:
    """Return a client whose refresh token has become a cookie, and the header with it."""
    client = await new_client()
    answer = await ask(client, body={"refresh_token": client.refresh_token})
    assert answer.status == 200
    name, value, _ = cookie_of(answer)
    return client, f"{name}={value}"


async def test_the_refresh_token_of_a_sign_in_becomes_a_cookie_that_scripts_can_not_read(new_client: Any) -> None:
    client = await new_client()
    answer = await ask(client, body={"refresh_token": client.refresh_token})
    assert set(answer.body) == {"access_token", "expires_at"}
    name, value, attributes = cookie_of(answer)
    assert name == f"vitrine_session_{client.store.public_id.hex}"
    assert len(value) > 40
    assert value != client.refresh_token
    assert {"Path=/", "HttpOnly", "SameSite=Strict"} < attributes
    assert (await client.with_token(answer.body["access_token"]).get(ME)).status == 200
    used = await client.with_token(None).post("/api/v1/auth/refresh", {"refresh_token": client.refresh_token})
    assert used.status == 401


async def test_over_tls_no_other_host_can_set_the_cookie(new_client: Any) -> None:
    client = await new_client()
    name, _, attributes = cookie_of(
        await ask(client, body={"refresh_token": client.refresh_token}, origin="https://{host}")
    )
    assert name == f"__Host-vitrine_session_{client.store.public_id.hex}"
    assert "Secure" in attributes
    assert not any(attribute.startswith("Domain") for attribute in attributes)


async def test_the_cookie_is_exchanged_and_replaced(signed_in: tuple[Client, str]) -> None:
    client, cookie = signed_in
    answer = await ask(client, Cookie=cookie)
    name, value, _ = cookie_of(answer)
    assert answer.status == 200
    assert f"{name}={value}" != cookie
    assert (await ask(client, Cookie=f"{name}={value}")).status == 200
    # The first one is not the previous one any more: it was stolen, and the session ends.
    stolen = await ask(client, Cookie=cookie)
    assert (stolen.status, stolen.body["error"]) == (401, "invalid refresh token")
    assert cookie_of(stolen)[1] == ""
    assert (await client.with_token(answer.body["access_token"]).get(ME)).status == 401


async def test_the_cookie_ends_after_the_time_without_use_of_the_setting(new_client: Any) -> None:
    client = await new_client()
    _, _, attributes = cookie_of(await ask(client, body={"refresh_token": client.refresh_token}))
    seconds = next(int(each.removeprefix("Max-Age=")) for each in attributes if each.startswith("Max-Age="))
    assert 480 * 60 + 14 * 60 < seconds <= 480 * 60 + 15 * 60


async def test_a_failure_before_the_new_cookie_leaves_the_old_one_valid(
    signed_in: tuple[Client, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    client, cookie = signed_in

    async def fails_at_the_setting(scope: Any, operation: Any, variables: Any = None) -> Any:
        if operation.name == "BrowserIdleTime":
            raise Unavailable
        return await execute(scope, operation, variables)

    with monkeypatch.context() as patch:
        patch.setattr("rest_facade.current.browser_session.execute", fails_at_the_setting)
        assert (await ask(client, Cookie=cookie)).status == 503
    assert (await ask(client, Cookie=cookie)).status == 200


async def test_without_a_cookie_there_is_no_session(new_client: Any) -> None:
    client = await new_client()
    opened, ended = await ask(client), await ask(client, "DELETE")
    assert (opened.status, opened.body) == (200, {"access_token": None, "expires_at": None})
    assert (ended.status, ended.body) == (200, {"message": "logged out"})
    assert "Set-Cookie" not in {*opened.headers, *ended.headers}


async def test_a_sign_out_ends_the_session_and_removes_the_cookie(signed_in: tuple[Client, str]) -> None:
    client, cookie = signed_in
    fresh = await ask(client, Cookie=cookie)
    name, value, _ = cookie_of(fresh)
    answer = await ask(client, "DELETE", Cookie=f"{name}={value}")
    assert (answer.status, answer.body) == (200, {"message": "logged out"})
    assert re.fullmatch(rf"{name}=; .*Max-Age=0.*", answer.headers["Set-Cookie"])
    assert (await client.with_token(fresh.body["access_token"]).get(ME)).status == 401


@pytest.mark.parametrize("method", ["POST", "DELETE"])
@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://other.example"},
        {"origin": "http://sibling.{host}"},
        {"origin": "http://{host}.other.example"},
        {"origin": "null"},
        {"origin": "http://["},
        {"origin": "http://[{host}]"},
        {"origin": ""},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
    ids=str,
)
async def test_a_page_of_another_address_is_refused(
    signed_in: tuple[Client, str], method: str, headers: dict[str, str]
) -> None:
    client, cookie = signed_in
    answer = await ask(client, method, Cookie=cookie, **headers)
    assert (answer.status, answer.body) == (403, REFUSED)
    assert "Set-Cookie" not in answer.headers
    assert (await ask(client, Cookie=cookie)).status == 200


async def test_the_cookie_signs_nobody_in_elsewhere(signed_in: tuple[Client, str]) -> None:
    client, cookie = signed_in
    anonymous = client.with_token(None)
    assert (await anonymous.get(ME, headers={"Cookie": cookie})).status == 401
    assert (await anonymous.post("/graphql", {"query": "{ me { id } }"}, headers={"Cookie": cookie})).status == 401
