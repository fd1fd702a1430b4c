"""The consent page: its content, redirects and security headers (docs/reference/current.md#app-installation)."""

import json
import re

import pytest

from rest_facade.current.consent import CONTENT_SECURITY_POLICY, FOLDER
from tests.harness.http import Response
from tests.harness.oauth import REDIRECT, App, challenge, query_parameters, register_app
from tests.harness.scopes import execute

ADDRESS = "/api/v1/oauth/authorize"


@pytest.fixture
async def app(admin) -> App:
    return await register_app(admin, name='Etiquetas <b>&"</script> {{config}} {{detail}}')


async def open_page(visitor, *, languages="", headers=None, **query) -> Response:
    """Open the page as a browser does, without following redirects."""
    named = {"X-Tenant-ID": str(visitor.store.public_id)} if headers is None else headers
    preferred = {"Accept-Language": languages} if languages else {}
    response = await visitor.http.get(
        ADDRESS,
        params={name: value for name, value in query.items() if value is not None},
        headers={**named, "X-Forwarded-For": visitor.ip, **preferred},
        allow_redirects=False,
    )
    assert response.status != 500
    return Response(response.status, response.headers, await response.read())


def page_config(answer: Response) -> dict:
    match = re.search(rb'<script type="application/json" id="config">(.*?)</script>', answer.raw, re.DOTALL)
    assert match is not None
    return json.loads(match[1])


async def test_the_page_contains_the_requested_scopes_and_the_redirect(visitor, app):
    answer = await open_page(
        visitor,
        response_type="code",
        client_id=app.client_id,
        redirect_uri=REDIRECT,
        scope="read_orders read_products",
        state="a&b</script>",
        code_challenge=challenge(),
        code_challenge_method="S256",
    )
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    config = page_config(answer)
    assert config["name"] == 'Etiquetas <b>&"</script> {{config}} {{detail}}'
    assert config["store"] == "Test store"
    assert config["tenant"] == str(visitor.store.public_id)
    assert config["scopes"] == [
        {"name": "read_orders", "privilege": "view_orders"},
        {"name": "read_products", "privilege": "view_products"},
    ]
    assert (config["client_id"], config["redirect_uri"]) == (app.client_id, REDIRECT)
    assert (config["state"], config["code_challenge"]) == ("a&b</script>", challenge())
    assert query_parameters(config["deny_to"]) == {"error": ["access_denied"], "state": ["a&b</script>"]}
    assert b"<b>" not in answer.raw
    assert b"{{" not in answer.raw.replace(b"{{config}} {{detail}}", b"")
    assert app.client_secret.encode() not in answer.raw


async def test_scopes_and_redirect_uri_default_to_the_registered_ones(visitor, app):
    config = page_config(await open_page(visitor, client_id=app.client_id))
    assert [scope["name"] for scope in config["scopes"]] == ["read_orders", "write_products"]
    assert config["redirect_uri"] == REDIRECT
    assert config["state"] is None


async def test_the_page_cannot_be_framed_or_cached_or_load_external_resources(visitor, app):
    for query in ({"client_id": app.client_id}, {"client_id": "unknown"}):
        answer = await open_page(visitor, **query)
        assert answer.headers["Content-Security-Policy"] == CONTENT_SECURITY_POLICY, query
        assert "frame-ancestors 'none'" in CONTENT_SECURITY_POLICY, query
        assert "unsafe" not in CONTENT_SECURITY_POLICY, query
        assert answer.headers["X-Frame-Options"] == "DENY", query
        assert answer.headers["Referrer-Policy"] == "no-referrer", query
        assert answer.headers["X-Content-Type-Options"] == "nosniff", query
        assert answer.headers["Cache-Control"] == "no-store", query
        assert "Set-Cookie" not in answer.headers, query
        text = answer.raw.decode()
        assert re.findall(r"(?:src|href)=\"(?!/assets/consent/|data:,)", text) == [], query
        assert re.findall(r"<script(?! type=\"application/json\"| src=)", text) == [], query
        assert " style=" not in text, query
        assert " onclick=" not in text, query


async def test_static_files_are_served_and_cacheable(visitor, app):
    text = (await open_page(visitor, client_id=app.client_id)).raw.decode()
    files = re.findall(r"\"(/assets/consent/[^\"]+)\"", text)
    assert len(files) == 2
    for file in files:
        response = await visitor.http.get(file)
        assert response.status == 200, file
        assert "immutable" in response.headers["Cache-Control"], file
        assert response.headers["X-Content-Type-Options"] == "nosniff", file
        media_type = "text/css" if file.endswith(".css") else "text/javascript"
        assert response.headers["Content-Type"] == f"{media_type}; charset=utf-8", file
    folder = files[0].rpartition("/")[0]
    for missing in (f"{folder}/page.html", f"{folder}/..%2fconsent.py", "/assets/consent/0/consent.js"):
        assert (await visitor.http.get(missing)).status == 404


@pytest.mark.parametrize(
    "query",
    [
        {"client_id": None},
        {"client_id": ""},
        {"client_id": "vci_unknown"},
        {"client_id": "é" * 500},
        {"redirect_uri": "https://evil.example/"},
        {"redirect_uri": REDIRECT + "/"},
        {"redirect_uri": REDIRECT + "?x=1"},
        {"redirect_uri": "javascript:alert(1)"},
        {"redirect_uri": "https://evil.example/", "response_type": "token"},
        {"redirect_uri": "https://evil.example/", "scope": "unknown"},
    ],
)
async def test_an_unregistered_redirect_uri_is_never_redirected_to(visitor, app, query):
    answer = await open_page(visitor, **{"client_id": app.client_id, "response_type": "code"} | query)
    assert answer.status == 400
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "Location" not in answer.headers
    assert b"evil.example" not in answer.raw
    assert b"<script" not in answer.raw


@pytest.mark.parametrize(
    "query,error",
    [
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"scope": "unknown"}, "invalid_scope"),
        ({"scope": "read_users"}, "invalid_scope"),
        ({"scope": "write_orders"}, "invalid_scope"),
        ({"code_challenge": challenge()}, "invalid_request"),
        ({"code_challenge": challenge(), "code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge": "short", "code_challenge_method": "S256"}, "invalid_request"),
        ({"code_challenge_method": "S256"}, "invalid_request"),
    ],
)
async def test_an_invalid_request_links_to_the_app_but_never_redirects(visitor, app, query, error):
    answer = await open_page(visitor, client_id=app.client_id, redirect_uri=REDIRECT, state="s 1", **query)
    assert answer.status == 400
    assert "Location" not in answer.headers
    assert f'href="{REDIRECT}?error={error}&amp;state=s%201"' in answer.raw.decode()
    assert error.encode() in answer.raw
    assert b"<b>" not in answer.raw
    assert b"<script" not in answer.raw
    assert answer.headers["Content-Security-Policy"] == CONTENT_SECURITY_POLICY


async def test_an_oversized_state_is_not_returned(visitor, app):
    answer = await open_page(visitor, client_id=app.client_id, state="x" * 2_001)
    assert f'href="{REDIRECT}?error=invalid_request"' in answer.raw.decode()


async def test_a_repeated_parameter_is_rejected_without_redirect(visitor, app):
    response = await visitor.http.get(
        f"{ADDRESS}?client_id={app.client_id}&client_id={app.client_id}",
        headers={"X-Tenant-ID": str(visitor.store.public_id)},
        allow_redirects=False,
    )
    assert response.status == 400
    assert "client_id is given 2 times" in await response.text()


async def test_the_page_requires_a_known_store(visitor, app):
    answer = await visitor.request("GET", ADDRESS, headers={"X-Tenant-ID": None, "Host": "localhost"})
    assert (answer.status, answer.body) == (404, {"error": "tenant not found"})
    answer = await visitor.request("POST", ADDRESS)
    assert (answer.status, answer.raw, answer.headers["Allow"]) == (405, b"", "GET, HEAD")


@pytest.mark.parametrize(
    "languages,locales,expected",
    [
        ("", None, "en"),
        ("pt-BR,pt;q=0.9,en;q=0.8", None, "pt-BR"),
        ("pt-PT", None, "pt-BR"),
        ("de, en;q=0.3, pt;q=0.4", None, "pt-BR"),
        ("en-GB, pt;q=0.9", None, "en"),
        ("pt;q=0, de", None, "en"),
        ("*, pt;q=0.5", None, "en"),
        ("!;;q=,pt;q=2,", None, "en"),
        ("en", "pt-BR en", "pt-BR"),
        ("pt-BR", "de en", "en"),
        ("pt-BR", "de", "pt-BR"),
        ("", "\u2028 <b>", "en"),
    ],
)
async def test_the_page_is_in_the_preferred_language_where_the_stores_has_no_texts(
    visitor, app, languages, locales, expected
):
    await execute(visitor.store, "update languages set code = 'de' where tenant_id = $1", visitor.store.id)
    answer = await open_page(visitor, languages=languages, client_id=app.client_id, ui_locales=locales)
    assert (answer.status, answer.headers["Content-Language"]) == (200, expected)
    assert "Accept-Language" in answer.headers["Vary"]
    text = answer.raw.decode()
    assert f'<html lang="{expected}">' in text
    assert ("Senha" in text, "Password" in text) == (expected == "pt-BR", expected == "en")
    assert page_config(answer)["texts"]["read"] == ("ver" if expected == "pt-BR" else "see")
    assert "[[" not in text


@pytest.mark.parametrize(
    "language,locales,expected",
    [("pt", None, "pt-BR"), ("en", None, "en"), ("pt", "en", "en"), ("en", "de pt", "pt-BR")],
)
async def test_the_page_is_in_the_language_of_the_store_unless_the_app_names_one(
    visitor, app, language, locales, expected
):
    await execute(visitor.store, "update languages set code = $2 where tenant_id = $1", visitor.store.id, language)
    preferred = "en" if expected == "pt-BR" else "pt"
    answer = await open_page(visitor, languages=preferred, client_id=app.client_id, ui_locales=locales)
    assert answer.headers["Content-Language"] == expected


async def test_an_address_that_stores_share_shows_the_page_of_the_store_it_names_or_of_the_app(visitor, app, new_store):
    other = await new_store(name="Another store")
    shared = {"Host": "localhost"}
    at_apps = await open_page(visitor, headers=shared, client_id=app.client_id)
    assert (at_apps.status, page_config(at_apps)["tenant"]) == (200, str(visitor.store.public_id))
    at_others = await open_page(visitor, headers=shared, client_id=app.client_id, tenant=str(other.public_id))
    assert (at_others.status, page_config(at_others)["store"]) == (200, "Another store")
    for query in (
        {},
        {"client_id": "vci_unknown"},
        {"client_id": app.client_id, "tenant": "1"},
        {"client_id": "é" * 500},
    ):
        answer = await open_page(visitor, headers=shared, **query)
        assert (answer.status, answer.body) == (404, {"error": "tenant not found"}), query
    # A store's own address shows no other.
    own = await open_page(visitor, client_id=app.client_id, tenant=str(other.public_id))
    assert page_config(own)["tenant"] == str(visitor.store.public_id)


async def test_errors_are_in_the_preferred_language(visitor, app):
    unknown = await open_page(visitor, languages="pt", client_id="unknown")
    invalid = await open_page(visitor, languages="pt", client_id=app.client_id, response_type="token")
    for answer in (unknown, invalid):
        assert answer.status == 400
        assert "Este aplicativo não pode ser instalado" in answer.raw.decode()
        assert "[[" not in answer.raw.decode()


def test_the_texts_of_all_languages_have_the_same_names():
    texts = json.loads((FOLDER / "texts.json").read_text(encoding="utf-8"))

    def names(value):
        return {name: names(text) for name, text in value.items()} if isinstance(value, dict) else bool(value)

    assert names(texts["en"]) == names(texts["pt-BR"])
    templates = "".join((FOLDER / f"{name}.html").read_text(encoding="utf-8") for name in ("page", "error", "invalid"))
    assert set(re.findall(r"\[\[(\w+)\]\]", templates)) == set(texts["en"]["page"])
