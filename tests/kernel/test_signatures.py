from hypothesis import given
from hypothesis import strategies as st

from kernel.signatures import constant_time_equal, hmac_sha256_hex, token_hash


def test_hmac_matches_rfc_4231():
    expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    assert hmac_sha256_hex(b"Jefe", b"what do ya want for nothing?") == expected
    assert hmac_sha256_hex("Jefe", b"what do ya want for nothing?") == expected


def test_a_text_key_is_encoded_as_utf_8():
    assert hmac_sha256_hex("çã", b"x") == hmac_sha256_hex("çã".encode(), b"x")


def test_equal_secrets_match_as_text_and_as_bytes():
    assert constant_time_equal("sha256=ab", "sha256=ab")
    assert constant_time_equal("é", "é".encode())
    assert not constant_time_equal("sha256=ab", "sha256=aB")
    assert not constant_time_equal("", "a")
    assert not constant_time_equal("\udce9", "é")


def test_a_token_hash_has_32_bytes():
    # FIPS 180-4
    assert token_hash("abc").hex() == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert len(token_hash("\udc80")) == 32


@given(st.text(st.characters()), st.text(st.characters()))
def test_constant_time_equal_never_raises_and_matches_equality(one, other):
    assert constant_time_equal(one, other) == (one == other)
