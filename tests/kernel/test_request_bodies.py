import json
import tracemalloc
from urllib.parse import unquote_plus

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel.request_bodies import MalformedBody, nest_form_fields, parse_form, parse_json, parse_json_object


def nested(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


def test_a_json_object_is_parsed():
    assert parse_json_object('{"name": "Calçado", "price": "129.90", "n": 1, "x": null}'.encode()) == {
        "name": "Calçado",
        "price": "129.90",
        "n": 1,
        "x": None,
    }


@pytest.mark.parametrize("raw", [b"[]", b"1", b'"text"', b"null", b"true"])
def test_a_body_that_is_no_object_is_rejected_only_as_an_object(raw):
    with pytest.raises(MalformedBody, match="not a JSON object"):
        parse_json_object(raw)
    assert parse_json(raw) == json.loads(raw)


@pytest.mark.parametrize(
    "raw",
    [
        b"", b" ", b"{", b"{'a': 1}", b'{"a": 1,}', b"nonsense", b'{"a": 01}', b"a=b", b"{} {}", b"NaN", b'{"a": NaN}',
        b'{"a": Infinity}', b'{"a": -Infinity}', b'{"a": 1e400}', b'{"a": "\xff"}', b'{"a": "\xed\xa0\x80"}',
        '{"a": "é"}'.encode("latin-1"), '{"a": 1}'.encode("utf-16"), b'{"a": "\x00"}', b'{"a": "\n"}',
        b'{"a": "\\ud800"}', b'{"a": "\\udc00"}', b'{"\\ud83d": 1}', b'{"a": "\\ud83dx"}', b'{"a": "\\ude00\\ud83d"}',
    ],
)  # fmt: skip
def test_invalid_json_or_utf_8_is_rejected(raw):
    with pytest.raises(MalformedBody, match="the body is not JSON"):
        parse_json(raw)


@pytest.mark.parametrize("raw", [b'{"a": "\\u0000"}', b'{"\\u0000": 1}', b'["x\\\\\\u0000"]', b'["\\\\", "\\u0000"]'])
def test_a_nul_character_is_rejected_in_any_position(raw):
    with pytest.raises(MalformedBody, match="NUL"):
        parse_json(raw)


def test_an_escaped_backslash_before_u0000_is_no_nul():
    assert parse_json(b'["\\\\u0000"]') == ["\\u0000"]
    assert parse_json(b'["\\\\\\\\u0000"]') == ["\\\\u0000"]


def test_paired_surrogates_and_a_byte_order_mark_are_accepted():
    assert parse_json(b'"\\ud83d\\ude00"') == "😀"
    assert parse_json_object(b"\xef\xbb\xbf{}") == {}


def test_the_last_duplicate_key_wins():
    assert parse_json_object(b'{"a": 1, "a": 2}') == {"a": 2}


def test_sixty_four_levels_are_accepted_and_one_more_is_rejected():
    assert parse_json(nested(64))
    assert parse_json_object(b'{"a":' * 63 + b"{}" + b"}" * 63)
    for raw in (nested(65), b'{"a":' * 64 + b"{}" + b"}" * 64, nested(1024), nested(100_000)):
        with pytest.raises(MalformedBody):
            parse_json(raw)
    with pytest.raises(MalformedBody, match="deeper than 2 levels"):
        parse_json(b"[[[]]]", max_depth=2)


def test_brackets_in_strings_and_siblings_do_not_count_as_depth():
    assert parse_json(b"[" + b",".join([b"[]"] * 1000) + b"]")
    assert parse_json(orjson.dumps(["[" * 1000, '"[{\\', '\\"[' * 200]))


@pytest.mark.parametrize("number", [2**63 - 1, -(2**63), 0, -1, 10**18])
def test_64_bit_integers_are_parsed_exactly(number):
    assert parse_json(b'{"a": %d}' % number) == {"a": number}


@pytest.mark.parametrize("number", [2**63, 2**64 - 1, 2**64, -(2**63) - 1, 10**19, 10**300])
def test_integers_past_64_bits_are_rejected(number):
    for raw in ('{"a": %d}', "[%d]", '{"9999999999999999999": %d}', '["x", {"a": [1, %d ]}]'):
        with pytest.raises(MalformedBody, match="more than 64 bits"):
            parse_json((raw % number).encode())
    with pytest.raises(MalformedBody, match="more than 64 bits"):
        parse_json(str(number).encode())


def test_long_digits_in_strings_and_fractions_are_accepted():
    chave = "52060433009911002506550120000007800267301615"
    assert parse_json_object(b'{"chave_nota": "%s"}' % chave.encode()) == {"chave_nota": chave}
    assert parse_json(b"[19.900000000000002131628, 1e19, 0.99999999999999999999]") == [
        19.900000000000002,
        1e19,
        1.0,
    ]
    assert parse_json(b'["\\"99999999999999999999", "\\\\"]') == ['"99999999999999999999', "\\"]


TEXT = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]))
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
    max_leaves=30,
)


@given(JSON)
def test_every_valid_value_is_parsed_like_the_standard_library(value):
    for raw in (json.dumps(value).encode(), json.dumps(value, ensure_ascii=False, indent=1).encode()):
        assert parse_json(raw) == value


@given(st.binary() | st.text(st.characters(), max_size=50).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_are_parsed_or_rejected(raw):
    try:
        parse_json(raw)
    except MalformedBody:
        pass


@pytest.mark.parametrize(
    "raw",
    [
        nested(64),
        b"[" + b",".join([nested(63)] * 16_000) + b"]",
        b"[" + b",".join([b"[]"] * 700_000) + b"]",
        b"[" + b",".join([b"1" * 19] * 100_000) + b"]",
        b'["' + b'\\"' * 1_000_000 + b'\\u0000"]',
        b'["' + b"\\\\" * 1_000_000 + b'", 1111111111111111111]',
        b'["' + b'\\"' * 1_000_000,
    ],
    ids=["deep", "deep and wide", "wide", "digits", "quotes", "backslashes", "unclosed"],
)
def test_the_largest_hostile_body_is_checked_quickly(raw):
    """A bad regular expression or a recursive walk would take minutes for each of them."""
    try:
        value = parse_json(raw)
    except MalformedBody:
        return
    assert isinstance(value, list)


@pytest.mark.parametrize(
    "raw,value",
    [
        (b"a=b&c[k]=v&d[]=1&d[]=2", {"a": "b", "c": {"k": "v"}, "d": ["1", "2"]}),
        ("a=b", {"a": "b"}),
        (b"", {}),
        (b"&&a=1&", {"a": "1"}),
        (b"a", {"a": ""}),
        (b"a=", {"a": ""}),
        (b"a=b=c", {"a": "b=c"}),
        (b"=x", {}),
        (b"a=1&a=2", {"a": "2"}),
        (b"nome=Cal%C3%A7ado+preto", {"nome": "Calçado preto"}),
        ("nome=Calçado", {"nome": "Calçado"}),
        (b"a%5Bb%5D=1", {"a": {"b": "1"}}),
        (b"a[b][c]=1&a[b][d]=2&a[e]=3", {"a": {"b": {"c": "1", "d": "2"}, "e": "3"}}),
        (b"p[0][id]=5&p[0][n]=1&p[1][id]=6", {"p": [{"id": "5", "n": "1"}, {"id": "6"}]}),
        (b"p[12][amount]=1&p[15][amount]=2", {"p": {"12": {"amount": "1"}, "15": {"amount": "2"}}}),
        (b"d[1]=a&d[0]=b", {"d": {"1": "a", "0": "b"}}),
        (b"d[5]=a&d[]=b", {"d": {"5": "a", "6": "b"}}),
        (b"d[k]=a&d[]=b", {"d": {"k": "a", "0": "b"}}),
        (b"d[][x]=1&d[][x]=2", {"d": [{"x": "1"}, {"x": "2"}]}),
        (b"a=1&a[b]=2", {"a": {"b": "2"}}),
        (b"a[b]=1&a=2", {"a": "2"}),
        (b"a[b]=1&a[b][c]=2", {"a": {"b": {"c": "2"}}}),
        (b"a.b=1&c d=2", {"a_b": "1", "c_d": "2"}),
        (b"a[b.c]=1", {"a": {"b.c": "1"}}),
        (b"+a=1", {"a": "1"}),
        (b"a[b=1", {"a_b": "1"}),
        (b"a[b]c=1", {"a": {"b": "1"}}),
        (b"[a]=1", {}),
        (b"0=x&1=y", {"0": "x", "1": "y"}),
    ],
)
def test_a_form_is_nested_like_php(raw, value):
    assert parse_form(raw) == value


@pytest.mark.parametrize("raw", [b"a=%FF", b"a=\xff", b"%ff=1", b"a=%00", b"a%00=1", "a=\ud800", b"a=%ED%A0%80"])
def test_a_form_with_forbidden_characters_is_rejected(raw):
    with pytest.raises(MalformedBody):
        parse_form(raw)


def test_a_form_is_limited_in_depth_and_names():
    assert parse_form("a" + "[b]" * 15 + "=1")
    with pytest.raises(MalformedBody, match="deeper than 16"):
        parse_form("a" + "[b]" * 16 + "=1")
    with pytest.raises(MalformedBody, match="deeper than 16"):
        parse_form("a" + "[]" * 1_000_000 + "=1")
    assert len(parse_form("&".join(f"k{number}=1" for number in range(5_000)))) == 5_000
    with pytest.raises(MalformedBody, match="more than 5000"):
        parse_form("&".join(f"k{number}=1" for number in range(5_001)))
    with pytest.raises(MalformedBody, match="more than 5000"):
        nest_form_fields([("a[]", "1")] * 5_001)
    assert len(nest_form_fields([("a[]", "1")] * 5_000)["a"]) == 5_000


def test_a_form_is_limited_in_values_with_arrays():
    def deep(count: int) -> str:
        return "&".join(f"k{number}[a][b][c][d]=1" for number in range(count))

    assert len(parse_form(deep(5_000))) == 5_000
    assert len(parse_form(deep(4_999) + "&k0[a][b][c][e]=1")) == 4_999
    with pytest.raises(MalformedBody, match="more than 25000 values, arrays included"):
        parse_form(deep(4_999) + "&" + "x" + "[a]" * 15 + "=1")


def test_a_query_string_can_have_repeated_names():
    pairs = [("status[]", "A"), ("status[]", "D"), ("q", "x"), ("q", "calça"), ("page", "2")]
    assert nest_form_fields(pairs) == {"status": ["A", "D"], "q": "calça", "page": "2"}


def test_a_too_large_index_is_an_ordinary_key():
    assert parse_form("d[99999999999999999999]=a&d[]=b") == {"d": {"99999999999999999999": "a", "0": "b"}}


@given(st.text(st.sampled_from("ab01[]=&.+% é\x00")) | st.binary())
def test_any_form_is_parsed_or_rejected(raw):
    try:
        value = parse_form(raw)
    except MalformedBody:
        return
    assert isinstance(value, dict)
    json.dumps(value)


@given(st.text(st.sampled_from("a4fF%%%=+\n\r é")) | st.text(st.sampled_from("%3Dd5cC9")))
def test_a_value_is_decoded_as_by_the_standard_library(value):
    try:
        expected = unquote_plus(value, errors="strict")
    except UnicodeDecodeError:
        with pytest.raises(MalformedBody, match="not UTF-8"):
            parse_form(f"a={value}")
        return
    assert parse_form(f"a={value}") == {"a": expected}


@pytest.mark.parametrize("part", ["%41", "%", "%41a", "=", "%g"])
def test_decoding_a_form_takes_little_memory(part):
    raw = ("code=" + part * (2_070_000 // len(part))).encode()
    tracemalloc.start()
    parse_form(raw)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * len(raw), part  # 80 times the body where each escape is an object
