import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel.json_bodies import MalformedBody, load_object, load_value, php_form, php_query


def nested(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


def test_an_object_is_read():
    assert load_object('{"name": "Calçado", "price": "129.90", "n": 1, "x": null}'.encode()) == {
        "name": "Calçado",
        "price": "129.90",
        "n": 1,
        "x": None,
    }


@pytest.mark.parametrize("raw", [b"[]", b"1", b'"text"', b"null", b"true"])
def test_a_body_that_is_no_object_is_refused_as_an_object_only(raw):
    with pytest.raises(MalformedBody, match="not a JSON object"):
        load_object(raw)
    assert load_value(raw) == json.loads(raw)


@pytest.mark.parametrize(
    "raw",
    [
        b"", b" ", b"{", b"{'a': 1}", b'{"a": 1,}', b"nonsense", b'{"a": 01}', b"a=b", b"{} {}", b"NaN", b'{"a": NaN}',
        b'{"a": Infinity}', b'{"a": -Infinity}', b'{"a": 1e400}', b'{"a": "\xff"}', b'{"a": "\xed\xa0\x80"}',
        '{"a": "é"}'.encode("latin-1"), '{"a": 1}'.encode("utf-16"), b'{"a": "\x00"}', b'{"a": "\n"}',
        b'{"a": "\\ud800"}', b'{"a": "\\udc00"}', b'{"\\ud83d": 1}', b'{"a": "\\ud83dx"}', b'{"a": "\\ude00\\ud83d"}',
    ],
)  # fmt: skip
def test_what_is_not_json_in_utf_8_is_refused(raw):
    with pytest.raises(MalformedBody, match="the body is not JSON"):
        load_value(raw)


@pytest.mark.parametrize(
    "raw", [b'{"a": "\\u0000"}', b'{"\\u0000": 1}', b'["x\\\\\\u0000"]', b'["\\\\", "\\u0000"]']
)
def test_a_nul_character_is_refused_wherever_it_stands(raw):
    with pytest.raises(MalformedBody, match="NUL"):
        load_value(raw)


def test_a_backslash_before_u0000_as_text_is_no_nul():
    assert load_value(b'["\\\\u0000"]') == ["\\u0000"]
    assert load_value(b'["\\\\\\\\u0000"]') == ["\\\\u0000"]


def test_paired_surrogates_and_a_byte_order_mark_are_read():
    assert load_value(b'"\\ud83d\\ude00"') == "😀"
    assert load_object(b"\xef\xbb\xbf{}") == {}


def test_of_duplicate_keys_the_last_wins():
    assert load_object(b'{"a": 1, "a": 2}') == {"a": 2}


def test_sixty_four_levels_are_read_and_one_more_is_refused():
    assert load_value(nested(64))
    assert load_object(b'{"a":' * 63 + b"{}" + b"}" * 63)
    for raw in (nested(65), b'{"a":' * 64 + b"{}" + b"}" * 64, nested(1024), nested(100_000)):
        with pytest.raises(MalformedBody):
            load_value(raw)
    with pytest.raises(MalformedBody, match="deeper than 2 levels"):
        load_value(b"[[[]]]", max_depth=2)


def test_brackets_in_strings_and_side_by_side_are_no_depth():
    assert load_value(b"[" + b",".join([b"[]"] * 1000) + b"]")
    assert load_value(orjson.dumps(["[" * 1000, '"[{\\', '\\"[' * 200]))


@pytest.mark.parametrize("number", [2**63 - 1, -(2**63), 0, -1, 10**18])
def test_integers_of_64_bits_are_read_exactly(number):
    assert load_value(b'{"a": %d}' % number) == {"a": number}


@pytest.mark.parametrize("number", [2**63, 2**64 - 1, 2**64, -(2**63) - 1, 10**19, 10**300])
def test_integers_past_64_bits_are_refused(number):
    for raw in ('{"a": %d}', "[%d]", '{"9999999999999999999": %d}', '["x", {"a": [1, %d ]}]'):
        with pytest.raises(MalformedBody, match="more than 64 bits"):
            load_value((raw % number).encode())
    with pytest.raises(MalformedBody, match="more than 64 bits"):
        load_value(str(number).encode())


def test_long_digits_in_strings_and_fractions_are_no_integers():
    chave = "52060433009911002506550120000007800267301615"
    assert load_object(b'{"chave_nota": "%s"}' % chave.encode()) == {"chave_nota": chave}
    assert load_value(b"[19.900000000000002131628, 1e19, 0.99999999999999999999]") == [
        19.900000000000002,
        1e19,
        1.0,
    ]
    assert load_value(b'["\\"99999999999999999999", "\\\\"]') == ['"99999999999999999999', "\\"]


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
def test_every_allowed_value_is_read_as_the_standard_library_reads_it(value):
    for raw in (json.dumps(value).encode(), json.dumps(value, ensure_ascii=False, indent=1).encode()):
        assert load_value(raw) == value


@given(
    st.binary()
    | st.text(st.characters(), max_size=50).map(lambda text: text.encode("utf-8", "surrogatepass"))
)
def test_any_bytes_are_a_value_or_a_refusal(raw):
    try:
        load_value(raw)
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
def test_the_largest_hostile_body_is_judged(raw):
    """Each of them takes a bad regular expression or a recursive walk minutes; the suite would not end."""
    try:
        value = load_value(raw)
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
def test_a_form_is_nested_as_php_nests_it(raw, value):
    assert php_form(raw) == value


@pytest.mark.parametrize(
    "raw", [b"a=%FF", b"a=\xff", b"%ff=1", b"a=%00", b"a%00=1", "a=\ud800", b"a=%ED%A0%80"]
)
def test_a_form_with_characters_text_cannot_have_is_refused(raw):
    with pytest.raises(MalformedBody):
        php_form(raw)


def test_a_form_is_bounded_in_depth_and_names():
    assert php_form("a" + "[b]" * 15 + "=1")
    with pytest.raises(MalformedBody, match="deeper than 16"):
        php_form("a" + "[b]" * 16 + "=1")
    with pytest.raises(MalformedBody, match="deeper than 16"):
        php_form("a" + "[]" * 1_000_000 + "=1")
    assert len(php_form("&".join(f"k{number}=1" for number in range(5_000)))) == 5_000
    with pytest.raises(MalformedBody, match="more than 5000"):
        php_form("&".join(f"k{number}=1" for number in range(5_001)))
    with pytest.raises(MalformedBody, match="more than 5000"):
        php_query([("a[]", "1")] * 5_001)
    assert len(php_query([("a[]", "1")] * 5_000)["a"]) == 5_000


def test_a_query_string_may_name_several_values():
    pairs = [("status[]", "A"), ("status[]", "D"), ("q", "x"), ("q", "calça"), ("page", "2")]
    assert php_query(pairs) == {"status": ["A", "D"], "q": "calça", "page": "2"}


def test_an_index_too_large_for_counting_is_an_ordinary_key():
    assert php_form("d[99999999999999999999]=a&d[]=b") == {"d": {"99999999999999999999": "a", "0": "b"}}


@given(st.text(st.sampled_from("ab01[]=&.+% é\x00")) | st.binary())
def test_any_form_is_an_object_or_a_refusal(raw):
    try:
        value = php_form(raw)
    except MalformedBody:
        return
    assert isinstance(value, dict)
    json.dumps(value)
