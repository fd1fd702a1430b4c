import argon2._password_hasher
import pytest
from argon2 import PasswordHasher

from auth.passwords import check_new_password, hash_password, needs_rehash, verify_password
from kernel.errors import ValidationFailed

pytestmark = pytest.mark.usefixtures("real_password_hashes")


async def test_only_the_hashed_password_verifies():
    hashed = await hash_password("segredo da loja")
    assert await verify_password(hashed, "segredo da loja")
    assert not await verify_password(hashed, "segredo da Loja")


async def test_the_hash_is_argon2id_with_the_documented_parameters():
    assert (await hash_password("segredo da loja")).startswith("$argon2id$v=19$m=19456,t=2,p=1$")


async def test_an_accent_in_another_unicode_form_is_the_same():
    hashed = await hash_password("coração do shopping")
    assert await verify_password(hashed, "corac\u0327a\u0303o do shopping")


@pytest.mark.parametrize("password_hash", [None, "", "no hash at all"])
async def test_without_a_valid_hash_every_password_is_wrong(password_hash):
    assert not await verify_password(password_hash, "segredo da loja")


async def test_an_unknown_account_costs_as_much_as_a_known_one(monkeypatch):
    hashed = await hash_password("segredo da loja")
    await verify_password(None, "once")  # the dummy hash is made at its first use
    work = []
    for name in ("hash_secret", "verify_secret"):
        library = getattr(argon2._password_hasher, name)
        monkeypatch.setattr(
            argon2._password_hasher,
            name,
            lambda *args, of=library, **kwargs: work.append(1) or of(*args, **kwargs),
        )

    async def cost(password_hash):
        work.clear()
        await verify_password(password_hash, "another password")
        return len(work)

    # Each is one memory-hard computation with the same parameters.
    assert await cost(hashed) == await cost(None) == await cost("no hash at all") == 1


@pytest.mark.parametrize("password", ["x" * 8, "x" * 128, "ç" * 128, "c\u0327" * 128])
def test_eight_to_128_characters_are_accepted(password):
    check_new_password(password)


@pytest.mark.parametrize("password", ["", "x" * 7, "x" * 129, "12345678\x00"])
def test_invalid_passwords_are_rejected_with_a_code(password):
    with pytest.raises(ValidationFailed) as refused:
        check_new_password(password)
    assert refused.value.fields == {"password": "password_invalid"}


async def test_a_hash_with_other_parameters_verifies_and_needs_rehash():
    old = PasswordHasher(time_cost=1, memory_cost=8 * 1024, parallelism=1).hash("segredo da loja")
    assert await verify_password(old, "segredo da loja")
    assert needs_rehash(old)
    assert not needs_rehash(await hash_password("segredo da loja"))


async def test_a_far_too_long_password_never_verifies():
    hashed = await hash_password("x" * 128)
    assert not await verify_password(hashed, "x" * 100_000)
