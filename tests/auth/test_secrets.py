import pytest

from auth.configuration import configure
from auth.secrets import (
    DecryptionError,
    decrypt,
    encrypt,
    key_id,
    keyed_hash,
    keyed_hashes,
    reencrypt,
    secret_keys,
    use_secret_keys,
)

OTHER = b"another secret of this deployment"


@pytest.fixture(autouse=True)
def present():
    before = secret_keys()
    yield before.secret_key
    use_secret_keys(before)


@pytest.fixture
def other_secret():
    return lambda: configure(OTHER)


def test_encryption_round_trips():
    encrypted = encrypt("signing-keys", b"private half")
    assert b"private" not in encrypted
    assert decrypt("signing-keys", encrypted) == b"private half"


def test_encrypting_twice_yields_different_ciphertexts():
    assert encrypt("totp", b"secret") != encrypt("totp", b"secret")


def test_a_value_for_one_purpose_cannot_be_decrypted_for_another():
    with pytest.raises(DecryptionError):
        decrypt("totp", encrypt("gateway", b"secret"))


@pytest.mark.parametrize("position", [0, 1, 13, -1])
def test_a_corrupted_value_cannot_be_decrypted(position):
    encrypted = bytearray(encrypt("totp", b"secret"))
    encrypted[position] ^= 1
    with pytest.raises(DecryptionError):
        decrypt("totp", bytes(encrypted))


@pytest.mark.parametrize("encrypted", [b"", b"\x01", b"\x01" + b"x" * 12])
def test_a_truncated_value_cannot_be_decrypted(encrypted):
    with pytest.raises(DecryptionError):
        decrypt("totp", encrypted)


def test_another_secret_key_neither_decrypts_nor_hashes_alike(other_secret):
    encrypted, hashed = encrypt("totp", b"secret"), keyed_hash("lockout", "11144477735")
    other_secret()
    assert keyed_hash("lockout", "11144477735") != hashed
    with pytest.raises(DecryptionError):
        decrypt("totp", encrypted)


# --- Several keys ------------------------------------------------------------------------------------------------------------


def test_a_fallback_reads_what_it_wrote_as_the_secret_key(present):
    alone = encrypt("totp", b"secret")
    configure(present, OTHER)
    in_ring = encrypt("totp", b"secret")
    configure(OTHER, present)
    assert decrypt("totp", alone) == decrypt("totp", in_ring) == b"secret"
    configure(OTHER)
    for value in (alone, in_ring):
        with pytest.raises(DecryptionError):
            decrypt("totp", value)


def test_without_fallbacks_the_format_is_the_one_that_earlier_versions_read(present):
    assert encrypt("totp", b"secret")[:1] == b"\x01"
    configure(present, OTHER)
    assert encrypt("totp", b"secret")[:5] == b"\x02" + key_id(present)
    configure(present, present)
    assert encrypt("totp", b"secret")[:1] == b"\x01"


def test_a_value_with_a_key_id_is_read_when_its_key_is_the_only_one(present):
    configure(OTHER, present)
    encrypted = encrypt("totp", b"secret")
    configure(OTHER)
    assert decrypt("totp", encrypted) == b"secret"


def test_an_unreadable_value_with_a_key_id_names_the_key(present):
    configure(OTHER, present)
    encrypted = encrypt("totp", b"secret")
    configure(present)
    with pytest.raises(DecryptionError, match=key_id(OTHER).hex()):
        decrypt("totp", encrypted)


@pytest.mark.parametrize("position", [0, 1, 4, 5, 17, -1])
def test_a_corrupted_value_with_a_key_id_cannot_be_decrypted(position, present):
    configure(present, OTHER)
    encrypted = bytearray(encrypt("totp", b"secret"))
    encrypted[position] ^= 1
    with pytest.raises(DecryptionError):
        decrypt("totp", bytes(encrypted))


@pytest.mark.parametrize("encrypted", [b"\x02", b"\x02abc", b"\x02abcd", b"\x02abcd" + b"x" * 12])
def test_a_truncated_value_with_a_key_id_cannot_be_decrypted(encrypted):
    with pytest.raises(DecryptionError):
        decrypt("totp", encrypted)


def test_reencrypting_changes_only_values_of_other_keys(present):
    old = encrypt("totp", b"secret")
    assert reencrypt("totp", old) is None
    configure(OTHER, present)
    new = reencrypt("totp", old)
    assert new is not None
    assert reencrypt("totp", new) is None
    configure(OTHER)
    assert decrypt("totp", new) == b"secret"
    with pytest.raises(DecryptionError):
        reencrypt("totp", old)


def test_hashes_are_looked_up_under_every_key_and_written_under_the_secret_key(present):
    old = keyed_hash("recovery code", "ABC")
    configure(OTHER, present)
    new = keyed_hash("recovery code", "ABC")
    assert new != old
    assert keyed_hashes("recovery code", "ABC") == (new, old)
    configure(OTHER)
    assert keyed_hashes("recovery code", "ABC") == (new,)


def test_a_key_id_does_not_reveal_its_key(present):
    assert len(key_id(present)) == 4
    assert key_id(present) not in present
    assert key_id(present) != key_id(OTHER)


@pytest.mark.parametrize("keys", [(b"short",), (OTHER, b"short")])
def test_a_short_secret_is_rejected_at_start(keys):
    with pytest.raises(ValueError, match="VITRINE_SECRET_KEY"):
        configure(*keys)
