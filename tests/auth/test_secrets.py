import pytest

from auth.configuration import configure, configured, use
from auth.secrets import DecryptionError, decrypt, encrypt, keyed_hash


@pytest.fixture
def other_secret():
    present = configured()

    def change():
        configure(b"another secret of this deployment")

    yield change
    use(present)


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


def test_a_short_secret_is_rejected_at_start():
    with pytest.raises(ValueError, match="VITRINE_SECRET_KEY"):
        configure(b"short")
