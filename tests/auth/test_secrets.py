import pytest

from auth.configuration import configure, configured, use
from auth.secrets import Unreadable, decrypt, encrypt, keyed_hash


@pytest.fixture
def other_secret():
    present = configured()

    def change():
        configure(b"another secret of this deployment")

    yield change
    use(present)


def test_what_is_encrypted_is_read_back():
    sealed = encrypt("signing-keys", b"private half")
    assert b"private" not in sealed
    assert decrypt("signing-keys", sealed) == b"private half"


def test_the_same_text_is_never_encrypted_twice_alike():
    assert encrypt("totp", b"secret") != encrypt("totp", b"secret")


def test_a_value_for_one_purpose_is_unreadable_for_another():
    with pytest.raises(Unreadable):
        decrypt("totp", encrypt("gateway", b"secret"))


@pytest.mark.parametrize("place", [0, 1, 13, -1])
def test_a_damaged_value_is_unreadable(place):
    sealed = bytearray(encrypt("totp", b"secret"))
    sealed[place] ^= 1
    with pytest.raises(Unreadable):
        decrypt("totp", bytes(sealed))


@pytest.mark.parametrize("sealed", [b"", b"\x01", b"\x01" + b"x" * 12])
def test_a_value_cut_short_is_unreadable(sealed):
    with pytest.raises(Unreadable):
        decrypt("totp", sealed)


def test_another_deployment_reads_and_hashes_nothing_alike(other_secret):
    sealed, hashed = encrypt("totp", b"secret"), keyed_hash("lockout", "11144477735")
    other_secret()
    assert keyed_hash("lockout", "11144477735") != hashed
    with pytest.raises(Unreadable):
        decrypt("totp", sealed)


def test_a_short_secret_is_refused_at_start():
    with pytest.raises(ValueError, match="VITRINE_SECRET_KEY"):
        configure(b"short")
