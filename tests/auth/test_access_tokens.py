"""Access tokens: signature, claims and times (docs/reference/current.md#access-tokens)."""

import asyncio
import base64
import hashlib
import hmac
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from auth.access_tokens import AccessTokenClaims, issue_access_token, verify_access_token
from auth.configuration import configure, configured
from auth.secrets import DecryptionError, secret_keys, use_secret_keys
from auth.signing_keys import SigningKeyRing, process_key_ring
from kernel.errors import Unauthenticated
from kernel.ids import uuid7
from models.connection import database
from models.connection.database import cross_store_connection

NOW = datetime.now(UTC).replace(microsecond=0)
CLAIMS = AccessTokenClaims(uuid7(), uuid7(), uuid7(), NOW + timedelta(minutes=15))


@pytest.fixture
async def ring(database):
    return SigningKeyRing()


@pytest.fixture
async def token(ring):
    return await issue_access_token(ring, CLAIMS, NOW)


def parts_of(token):
    return [json.loads(base64.urlsafe_b64decode(part + "==")) for part in token.split(".")[:2]]


def encoded(part):
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()


async def signed(ring, *, header=None, without=None, **claims):
    """Return a token with other claims, signed with our key."""
    _, payload = parts_of(await issue_access_token(ring, CLAIMS, NOW))
    payload |= claims
    payload.pop(without, None)
    pair = await ring.signing(NOW)
    return jwt.encode(payload, pair.private, algorithm="EdDSA", headers={"kid": pair.kid} | (header or {}))


async def refused(ring, token, now=NOW):
    with pytest.raises(Unauthenticated) as error:
        await verify_access_token(ring, token, now)
    assert error.value.message == "invalid or expired token"


async def test_a_token_has_its_claims(ring, token):
    assert await verify_access_token(ring, token, NOW) == CLAIMS
    header, payload = parts_of(token)
    assert header["alg"] == "EdDSA"
    assert set(payload) == {"iss", "aud", "sub", "tid", "sid", "typ", "iat", "exp", "jti"}
    assert (payload["sub"], payload["tid"], payload["sid"]) == (
        str(CLAIMS.user),
        str(CLAIMS.store),
        str(CLAIMS.session),
    )
    assert payload["exp"] - payload["iat"] == 900


async def test_a_token_is_valid_until_its_last_second(ring, token):
    assert await verify_access_token(ring, token, NOW + timedelta(seconds=899))
    await refused(ring, token, NOW + timedelta(seconds=900))


async def test_a_token_from_the_future_is_rejected(ring, token):
    await refused(ring, token, NOW - timedelta(minutes=2))


async def test_any_changed_character_invalidates_the_token(ring, token):
    for position in range(0, len(token), 7):
        other = "A" if token[position] != "A" else "B"
        await refused(ring, token[:position] + other + token[position + 1 :])


async def test_changed_claims_with_the_old_signature_are_rejected(ring, token):
    header, payload = parts_of(token)
    payload["sub"] = str(uuid7())
    await refused(ring, ".".join([encoded(header), encoded(payload), token.split(".")[2]]))


@pytest.mark.parametrize("algorithm", ["none", "None", "nOnE", "HS256", "RS256", "ES256"])
async def test_no_other_algorithm_is_accepted(ring, token, algorithm):
    header, payload = parts_of(token)
    unsigned = f"{encoded(header | {'alg': algorithm})}.{encoded(payload)}"
    await refused(ring, unsigned + ".")
    await refused(ring, f"{unsigned}.{token.split('.')[2]}")


async def test_the_public_key_cannot_sign_as_an_hmac_secret(ring, token):
    header, payload = parts_of(token)
    public = (await ring.signing(NOW)).private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    body = f"{encoded(header | {'alg': 'HS256'})}.{encoded(payload)}"
    mac = base64.urlsafe_b64encode(hmac.new(public, body.encode(), hashlib.sha256).digest()).rstrip(b"=").decode()
    await refused(ring, f"{body}.{mac}")


@pytest.mark.parametrize("kid", ["present", "unknown", None, 7, "../../etc/passwd", "\x00"])
async def test_another_key_is_rejected_whatever_its_kid(ring, token, kid):
    header, payload = parts_of(token)
    kid = header["kid"] if kid == "present" else kid
    body = f"{encoded({'alg': 'EdDSA', 'typ': 'JWT', 'kid': kid})}.{encoded(payload)}"
    signature = base64.urlsafe_b64encode(Ed25519PrivateKey.generate().sign(body.encode())).rstrip(b"=").decode()
    await refused(ring, f"{body}.{signature}")


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://elsewhere.example"},
        {"aud": "another-service"},
        {"aud": []},
        {"typ": "refresh"},
        {"typ": "temp"},
        {"typ": None},
        {"sub": "12"},
        {"tid": 12},
        {"sid": ""},
        {"exp": "9999999999"},
        {"exp": 1e300},
        {"exp": 10**18},
        {"exp": True},
        {"iat": None},
        {"iat": 10**12},
        {"jti": 5},
    ],
    ids=str,
)
async def test_a_signed_token_with_invalid_claims_is_rejected(ring, claims):
    await refused(ring, await signed(ring, **claims))


@pytest.mark.parametrize("name", ["iss", "aud", "sub", "tid", "sid", "typ", "iat", "exp", "jti"])
async def test_a_signed_token_without_a_claim_is_rejected(ring, name):
    await refused(ring, await signed(ring, without=name))


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "..",
        "a.b.c",
        "ey.ey.ey",
        "é.é.é",
        "x" * 100_000,
        "\ud800",
        "vat_live_abc",
        "e30.e30.e30",
        "bnVsbA.bnVsbA.bnVsbA",
    ],
)
async def test_a_malformed_token_is_rejected(ring, text):
    await refused(ring, text)


# --- Keys --------------------------------------------------------------------------------------------------------------------


@pytest.fixture
async def no_key(database):
    """Leave the deployment without a signing key; afterwards it has those again with which other tests' tokens are signed."""
    async with cross_store_connection() as platform:
        keys = await platform.fetch("delete from signing_keys returning *")
    process_key_ring().clear()
    yield
    async with cross_store_connection() as platform:
        await platform.execute("delete from signing_keys")
        for key in keys:
            values = ", ".join(f"${number}" for number in range(1, len(key) + 1))
            await platform.execute(
                f"insert into signing_keys ({', '.join(key.keys())}) values ({values})", *key.values()
            )
    process_key_ring().clear()


async def test_processes_that_start_concurrently_create_one_key(no_key):
    rings = [SigningKeyRing() for _ in range(6)]
    pairs = await asyncio.gather(*(ring.signing(NOW) for ring in rings))
    assert len({pair.kid for pair in pairs}) == 1
    assert await database.fetchval("select count(*) from signing_keys") == 1


async def test_after_a_rotation_old_tokens_are_valid_until_they_expire(ring, token):
    other_process = SigningKeyRing()
    await verify_access_token(other_process, token, NOW)
    kid = await ring.rotate(NOW)
    new = await issue_access_token(ring, CLAIMS, NOW)
    assert parts_of(new)[0]["kid"] == kid != parts_of(token)[0]["kid"]
    for reader in (ring, SigningKeyRing()):
        assert await verify_access_token(reader, token, NOW) == CLAIMS
        assert await verify_access_token(reader, new, NOW) == CLAIMS


async def test_an_unknown_kid_reloads_the_keys(ring, token, monkeypatch):
    monkeypatch.setattr("auth.signing_keys.RECHECK_SECONDS", 0.0)
    other_process = SigningKeyRing()
    await verify_access_token(other_process, token, NOW)
    await ring.rotate(NOW)
    assert await verify_access_token(other_process, await issue_access_token(ring, CLAIMS, NOW), NOW)


async def test_a_retired_key_is_served_until_its_tokens_expire(ring, token):
    old_kid = parts_of(token)[0]["kid"]
    await ring.rotate(NOW)
    assert old_kid in [key["kid"] for key in (await SigningKeyRing().jwks(NOW + timedelta(minutes=15)))["keys"]]
    assert old_kid not in [key["kid"] for key in (await SigningKeyRing().jwks(NOW + timedelta(minutes=18)))["keys"]]


async def test_the_published_keys_verify_tokens_and_have_no_private_part(ring):
    now = datetime.now(UTC)  # the library compares with the clock
    token = await issue_access_token(ring, replace(CLAIMS, expires_at=now + timedelta(minutes=15)), now)
    published = await ring.jwks(now)
    for key in published["keys"]:
        assert set(key) == {"kty", "crv", "x", "kid", "alg", "use"}
    keys = jwt.PyJWKSet.from_dict(published)
    settings = configured()
    payload = jwt.decode(
        token,
        keys[parts_of(token)[0]["kid"]],
        algorithms=["EdDSA"],
        audience=settings.audience,
        issuer=settings.issuer,
    )
    assert payload["sub"] == str(CLAIMS.user)


async def test_private_keys_are_encrypted_at_rest(ring):
    pair = await ring.signing(NOW)
    raw = pair.private.private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
    for record in await database.fetch("select private_key from signing_keys"):
        assert raw not in record["private_key"]


async def test_a_key_encrypted_with_another_secret_cannot_sign_until_rotated(ring, token):
    present = secret_keys()
    configure(b"another secret of this deployment")
    try:
        other = SigningKeyRing()
        with pytest.raises(DecryptionError, match="VITRINE_SECRET_KEY"):
            await other.signing(NOW)
        assert await verify_access_token(other, token, NOW) == CLAIMS
        assert (await other.jwks(NOW))["keys"]
        await other.rotate(NOW)
        assert await issue_access_token(other, CLAIMS, NOW)
        assert await verify_access_token(other, token, NOW) == CLAIMS
    finally:
        use_secret_keys(present)
    await SigningKeyRing().rotate(NOW)
    process_key_ring().clear()


async def test_unknown_kids_do_not_query_the_database_each_time(ring, token):
    await verify_access_token(ring, token, NOW)
    header, payload = parts_of(token)
    with database.count_statements() as counted:
        for number in range(20):
            forged = f"{encoded(header | {'kid': f'forged-{number}'})}.{encoded(payload)}.{token.split('.')[2]}"
            await refused(ring, forged)
    assert counted.count <= 1


def test_the_process_has_one_ring():
    assert process_key_ring() is process_key_ring()
