import threading
import time
from uuid import RFC_4122, UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel import ids
from kernel.ids import (
    checksummed_token,
    has_valid_checksum,
    parse_reference,
    parse_uuid,
    random_token,
    uuid7,
)


def test_a_uuid7_has_the_version_the_variant_and_the_time_of_rfc_9562():
    before = time.time_ns() // 1_000_000
    made = uuid7()
    after = time.time_ns() // 1_000_000
    assert made.version == 7
    assert made.variant == RFC_4122
    assert before <= made.int >> 80 <= after + 1


def test_uuids_increase_within_and_across_milliseconds():
    made = [uuid7() for _ in range(50_000)]
    assert made == sorted(made)
    assert len(set(made)) == len(made)


def test_uuids_increase_when_the_clock_goes_back():
    source = ids._Uuid7Generator()
    made = [source.next(at) for at in (1_000, 2_000, 1_500, 1, 2_000, 2_001)]
    assert made == sorted(set(made))
    assert [value.int >> 80 for value in made] == [1_000, 2_000, 2_000, 2_000, 2_000, 2_001]


def test_a_counter_overflow_uses_the_next_millisecond():
    source = ids._Uuid7Generator()
    first = source.next(1_000)
    source._counter = 2**42 - 2
    second, third = source.next(1_000), source.next(1_000)
    assert first < second < third
    assert [value.int >> 80 for value in (second, third)] == [1_000, 1_001]
    assert {value.version for value in (second, third)} == {7}


def test_threads_get_distinct_uuids():
    made = []
    threads = [threading.Thread(target=lambda: made.extend(uuid7() for _ in range(5_000))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(made)) == 20_000


@pytest.mark.parametrize(
    "value,number",
    [("1", 1), ("12", 12), (12, 12), ("0012", 12), (str(2**63 - 1), 2**63 - 1), (2**63 - 1, 2**63 - 1)],
)
def test_a_legacy_number_is_parsed_from_digits_or_an_integer(value, number):
    assert parse_reference(value) == number


@pytest.mark.parametrize(
    "value",
    [
        "0", 0, -1, "-1", "+1", " 1", "1 ", "1\n", "", "1.0", 1.0, "1e3", "0x1", "1_0", "\u0661", "\uff11", "²", True, None, [1],
        2**63, str(2**63), "9" * 19, "9" * 5_000, 10**400, "abc", "drop table", "\x00", "1\x00", "\ud800",
        uuid4().hex, f"{{{uuid4()}}}", f"urn:uuid:{uuid4()}", f"{uuid4()}\n", "g" * 36,
    ],
)  # fmt: skip
def test_an_invalid_reference_is_none(value):
    assert parse_reference(value) is None


def test_a_uuid_is_parsed_in_either_case_with_hyphens():
    value = uuid4()
    for form in (str(value), str(value).upper(), value):
        assert parse_uuid(form) == value
        assert parse_reference(form) == value
    assert parse_uuid(value.hex) is None
    assert parse_uuid("12") is None


@given(st.one_of(st.text(), st.from_regex(r"[0-9-]{0,40}"), st.integers()))
def test_a_parsed_reference_is_storable(value):
    reference = parse_reference(value)
    if isinstance(reference, int):
        assert 1 <= reference <= 2**63 - 1
    else:
        assert reference is None or isinstance(reference, UUID)


def test_random_tokens_are_long_enough_and_url_safe():
    token = random_token()
    assert len(token) == 43
    assert token.replace("-", "").replace("_", "").isalnum()
    assert token != random_token()
    assert len(random_token(128)) == 22


@pytest.mark.parametrize("prefix", ["vat_live_", "vat_test_", "sfk_"])
def test_a_checksum_detects_any_changed_character(prefix):
    token = checksummed_token(prefix)
    assert token.startswith(prefix)
    assert token[len(prefix) :].isalnum()
    assert len(token) == len(prefix) + 43 + 6
    assert has_valid_checksum(token)
    for place in range(len(token)):
        slip = "x" if token[place] != "x" else "y"
        assert not has_valid_checksum(token[:place] + slip + token[place + 1 :])


def test_the_checksum_covers_the_prefix():
    token = checksummed_token("vat_test_")
    assert not has_valid_checksum(token.replace("vat_test_", "vat_live_"))


@pytest.mark.parametrize(
    "token", ["", "a", "000000", "vat_live_", "vat_live_é" + "0" * 20, "\udc80" * 20, "a" * 20 + "\n"]
)
def test_an_invalid_token_has_no_valid_checksum(token):
    assert not has_valid_checksum(token)


@given(st.text(), st.integers(1, 512))
def test_has_valid_checksum_never_raises(text, bits):
    assert has_valid_checksum(text) in (True, False)
    assert has_valid_checksum(checksummed_token("p_", bits))
