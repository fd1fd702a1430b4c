import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel.text import (
    FOLD_FROM,
    FOLD_TO,
    compound_words,
    fold,
    has_forbidden_characters,
    nfc,
    prefix_tsquery,
    repr_value,
    search_terms,
    slugify,
)
from tests.harness.folding_sql import fold_characters_sql, fold_sql, words_sql


@pytest.mark.parametrize(
    "text,folded",
    [
        ("Calçado", "calcado"),
        ("CALÇADO", "calcado"),
        ("calc\u0327ado", "calcado"),
        ("ÁÀÂÃÄÅÉÈÊËÍÌÎÏÓÒÔÕÖÚÙÛÜÇÑÝŸ", "aaaaaaeeeeiiiiooooouuuucnyy"),
        ("áàâãäåéèêëíìîïóòôõöúùûüçñýÿ", "aaaaaaeeeeiiiiooooouuuucnyy"),
        ("Tênis nº 42, 1ª linha, 10 m²", "tenis no 42, 1a linha, 10 m2"),
        ("Straße Øre Łódź İstanbul", "strase ore lodz istanbul"),
        ("\uff21\uff22\uff23", "abc"),
        ("ﬁta", "fita"),
        ("Привет ΣΟΦΟΣ σοφος", "привет σοφοσ σοφοσ"),
        ("日本", "日本"),
        ("", ""),
    ],
)
def test_folding_removes_case_and_accents(text, folded):
    assert fold(text) == folded


@given(st.text())
def test_folding_is_idempotent(text):
    assert fold(fold(text)) == fold(text)


@given(st.text(st.characters(min_codepoint=32, max_codepoint=0x17F)))
def test_folding_ignores_case_and_composition(text):
    assert fold(text.upper().lower()) == fold(text.upper())
    assert fold(nfc(text)) == fold(text)


def test_the_folding_table_pairs_every_character_once():
    assert len(FOLD_FROM) == len(FOLD_TO) == len(set(FOLD_FROM))
    assert not set(FOLD_TO) & set(FOLD_FROM), "a target that is folded again would make folding depend on its order"


def test_the_folding_sql_is_ascii_and_has_the_same_table():
    sql, table = fold_sql("$1"), fold_characters_sql("folded")
    assert sql.isascii()
    assert table.isascii()
    assert """lower(normalize($1, NFKD) COLLATE "C")""" in sql
    literals = re.findall(r"U&'((?:\\[0-9A-F]{4})+)'", table)
    decoded = ["".join(chr(int(code, 16)) for code in literal.split("\\")[1:]) for literal in literals]
    assert decoded == [FOLD_FROM, FOLD_TO]
    (characters,) = re.findall(r"~ '\[(.*)\]'", table)
    assert re.sub(r"\\u([0-9a-f]{4})", lambda code: chr(int(code[1], 16)), characters) == FOLD_FROM
    assert sql in words_sql("$1").replace("regexp_replace($1, '</?[A-Za-z][^>]*>', ' ', 'g')", "$1")


@pytest.mark.parametrize(
    "query,terms",
    [
        ("Calçado Preto", ["calcado", "preto"]),
        ("tênis-38/39", ["tenis", "38", "39"]),
        ("  p/ homem (novo)!  ", ["p", "homem", "novo"]),
        ("preto PRETO prêto", ["preto"]),
        ("sku_12", ["sku", "12"]),
        ("a'b\\c:*&|!<->", ["a", "b", "c"]),
        ("10€ 👟tênis →", ["10", "tenis"]),
        ("a\x00b\ud800c", ["a", "b", "c"]),
        ("日本語 カメラ", ["日本語", "カメラ"]),
        ("...", []),
        ("", []),
    ],
)
def test_a_query_is_split_into_folded_words(query, terms):
    assert search_terms(query) == terms


def test_a_query_has_at_most_sixteen_terms_of_limited_length():
    assert search_terms(" ".join(f"w{number}" for number in range(100))) == [f"w{number}" for number in range(16)]
    assert search_terms("x" * 5_000) == ["x" * 64]


def test_a_tsquery_requires_every_word_as_a_prefix():
    assert prefix_tsquery("Calç pret") == "'calc':* & 'pret':*"
    assert prefix_tsquery("?!") is None


@given(st.text())
def test_a_tsquery_is_always_well_formed(query):
    written = prefix_tsquery(query)
    if written is not None:
        assert re.fullmatch(r"'[^'\\]+':\*( & '[^'\\]+':\*){0,15}", written)
        assert not has_forbidden_characters(written)


@given(st.text(st.characters(categories=["L", "N"], max_codepoint=0x24F), min_size=1, max_size=30))
def test_a_word_matches_its_prefixes(word):
    (first, *_) = search_terms(word) or [None]
    if first is not None:
        assert all(first.startswith(start) for start in search_terms(first[: len(first) // 2 + 1]))


@pytest.mark.parametrize(
    "text,expected",
    [
        ("Tênis (Azul)", "tenis-azul"),
        ("  Ação & Reação  ", "acao-reacao"),
        ("100% Algodão", "100-algodao"),
        ("---", ""),
        ("日本", ""),
        ("", ""),
    ],
)
def test_a_slug_has_only_letters_digits_and_hyphens(text, expected):
    assert slugify(text) == expected


def test_a_long_slug_is_truncated_between_words():
    assert slugify("palavra " * 40) == "-".join(["palavra"] * 15)
    assert slugify("x" * 500) == "x" * 120


@given(st.text(max_size=300))
def test_a_slug_is_always_url_safe(text):
    made = slugify(text)
    assert len(made) <= 120
    assert made == "" or re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", made)
    assert slugify(made) == made


@pytest.mark.parametrize(
    "text,forbidden", [("a\x00", True), ("\ud800", True), ("\udfff x", True), ("é😀\n\t", False), ("", False)]
)
def test_nul_and_lone_surrogates_are_forbidden(text, forbidden):
    assert has_forbidden_characters(text) is forbidden


@pytest.mark.parametrize("mark", ["\u0301", "\u0323", "\uff9e", "\u0f73", "\U0001d165"])
@pytest.mark.parametrize("before", ["", "a", "a" * 7, "é" * 1_000])
def test_more_than_thirty_marks_in_succession_are_forbidden(mark, before):
    assert not has_forbidden_characters(f"{before}{mark * 30}a{mark * 30}")
    assert has_forbidden_characters(f"{before}{mark * 31}a")


def test_whatever_normalizes_to_a_mark_counts_as_one():
    for code in range(0x110000):
        character = chr(code)
        if not 0xD800 <= code < 0xE000 and unicodedata.combining(unicodedata.normalize("NFKD", character)[0]):
            assert has_forbidden_characters(character * 31), hex(code)


def test_repr_value_truncates_and_escapes():
    assert repr_value("Z") == "'Z'"
    assert [repr_value(value) for value in (None, True, False, 1, 0, [])] == ["null", "true", "false", "1", "0", "[]"]
    assert repr_value([None, "None", {"it's": True}]) == """[null, 'None', {"it's": true}]"""
    assert repr_value("\x00\ud800") == "'\\x00\\ud800'"
    assert len(repr_value("x" * 10**6)) < 70
    assert len(repr_value(list(range(1000)))) < 70


@pytest.mark.parametrize(
    "query, words",
    [
        ("Calçado de COURO", ["calcado", "de", "couro"]),
        ("can-38/b CAN.38", ["can-38-b", "can-38"]),
        ("- -a- 'x'", ["a", "x"]),
        ("10e5kit\u00a0azul", ["10e5kit", "azul"]),
        ("a a A", ["a"]),
        ("!?", []),
        ("x" * 70 + "-y", ["x" * 64 + "-y"]),
    ],
)
def test_compound_words_keep_their_parts_together(query: str, words: list[str]) -> None:
    assert compound_words(query) == words
    assert len(compound_words(" ".join(map(str, range(100, 140))))) == 16
