import pytest
from hypothesis import given
from hypothesis import strategies as st
from validate_docbr import CNPJ, CPF

from kernel.documents import (
    IdentifierType,
    chave_nota_check_digit,
    classify_identifier,
    has_cnpj_form,
    has_valid_check_digit,
    is_cnpj,
    is_cpf,
    normalize_cep,
    normalize_document,
    normalize_phone,
    parse_chave_nota,
)
from kernel.fields import is_email, normalize_email
from kernel.text import InvalidValue

# From the NF-e manual's own example of the check digit.
CHAVE = "52060433009911002506550120000007800267301615"
ALPHANUMERIC_CHAVE = "35260712ABC34501DE35550010000000011123456784"


@pytest.mark.parametrize("text", ["529.982.247-25", "52998224725", " 529 982 247-25 ", "000.000.001-91"])
def test_a_valid_cpf_is_accepted_with_or_without_punctuation(text):
    assert is_cpf(text)


@pytest.mark.parametrize(
    "text",
    [
        "529.982.247-26",
        "111.111.111-11",
        "00000000000",
        "191",
        "",
        "5299822472",
        "529982247255",
        "\uff152998224725",
        "5299822472a",
    ],
)
def test_an_invalid_short_or_repeated_cpf_is_rejected(text):
    assert not is_cpf(text)


# 12.ABC.345/01DE-35 is the example that Receita Federal and Serpro publish for the alphanumeric form.
@pytest.mark.parametrize("text", ["11.222.333/0001-81", "11222333000181", "12.ABC.345/01DE-35", "12abc34501de35"])
def test_a_valid_numeric_or_alphanumeric_cnpj_is_accepted(text):
    assert is_cnpj(text)
    assert has_cnpj_form(text)


@pytest.mark.parametrize("text", ["11.222.333/0001-82", "12.ABC.345/01DE-36", "00000000000000", "11111111111111"])
def test_a_cnpj_with_invalid_check_digits_still_has_the_form(text):
    assert not is_cnpj(text)
    assert has_cnpj_form(text)


@pytest.mark.parametrize(
    "text",
    ["", "1122233300018", "112223330001811", "12ABC34501DEAB", "12ÁBC34501DE35", "12a\u017fc34501de35"],
)
def test_text_without_the_form_of_a_cnpj_is_rejected(text):
    assert not is_cnpj(text)
    assert not has_cnpj_form(text)


def test_documents_are_normalized_without_punctuation_in_upper_case():
    assert normalize_document(" 12.abc.345/01de-35 ") == "12ABC34501DE35"
    assert normalize_document("529.982.247–25") == "52998224725"


@given(st.integers(0, 10**9 - 1))
def test_every_generated_cpf_is_accepted_and_its_neighbour_is_not(number):
    first = f"{number:09d}"
    maker = CPF()
    digits = first + maker._generate_first_digit(list(first))
    digits += maker._generate_second_digit(list(digits))
    assert is_cpf(digits) == (len(set(digits)) > 1)
    assert not is_cpf(digits[:-1] + str((int(digits[-1]) + 1) % 10))


@given(st.text("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", min_size=12, max_size=12))
def test_cnpj_check_digits_match_the_published_algorithm(first):
    def digit(text: str) -> str:
        total = sum((ord(character) - 48) * (2 + place % 8) for place, character in enumerate(reversed(text)))
        return "0" if total % 11 < 2 else str(11 - total % 11)

    whole = first + digit(first)
    whole += digit(whole)
    assert is_cnpj(whole) == (len(set(whole)) > 1)
    assert is_cnpj(CNPJ().mask(whole)) == is_cnpj(whole)


def test_a_cep_has_eight_digits():
    assert normalize_cep("01310-100") == "01310100"
    assert normalize_cep("01310100") == "01310100"
    assert normalize_cep("01.310-100") == "01310100"
    for wrong in ("0131010", "013101000", "0131010a", "", "\uff101310100"):
        assert normalize_cep(wrong) is None


@pytest.mark.parametrize(
    "text",
    ["11912345678", "(11) 91234-5678", "+55 11 91234-5678", "+55 (11) 91234.5678", "5511912345678", "0055 11 91234 5678",
     "011 91234-5678", " 11 9 1234 5678 "],
)  # fmt: skip
def test_a_mobile_number_is_normalized(text):
    assert normalize_phone(text) == "11912345678"


@pytest.mark.parametrize("text", ["1132345678", "(11) 3234-5678", "+55 11 3234-5678", "551132345678", "01132345678"])
def test_a_landline_number_is_normalized(text):
    assert normalize_phone(text) == "1132345678"


def test_the_area_code_55_is_not_mistaken_for_the_country_code():
    assert normalize_phone("(55) 99123-4567") == "55991234567"
    assert normalize_phone("55 3221-4567") == "5532214567"
    assert normalize_phone("+55 55 99123-4567") == "55991234567"
    assert normalize_phone("055 99123-4567") == "55991234567"


@pytest.mark.parametrize(
    "text",
    ["", "190", "912345678", "11812345678", "1112345678", "10912345678", "01912345678", "+1 415 555 2671", "+11912345678",
     "119123456789", "1011912345678", "555511912345678", "11 91234-567a", "\uff111912345678", "0" * 50],
)  # fmt: skip
def test_an_invalid_brazilian_phone_number_is_none(text):
    assert normalize_phone(text) is None


@given(st.from_regex(r"\+?[0-9 ()-]{0,16}", fullmatch=True))
def test_normalizing_a_phone_number_is_idempotent(text):
    phone = normalize_phone(text)
    assert phone is None or normalize_phone(phone) == phone


def test_an_access_key_is_44_digits_after_spaces():
    spaced = " ".join(CHAVE[place : place + 4] for place in range(0, 44, 4))
    assert parse_chave_nota(spaced) == CHAVE
    assert parse_chave_nota(f" {CHAVE}\n") == CHAVE


@pytest.mark.parametrize(
    "value",
    [
        CHAVE[:-1],
        CHAVE + "0",
        "",
        None,
        52,
        CHAVE[:-1] + "a",
        CHAVE[:-1] + "\uff15",
        CHAVE.replace("0", "-"),
        "A" + ALPHANUMERIC_CHAVE[1:],
        ALPHANUMERIC_CHAVE.replace("E35", "E3A"),
        ALPHANUMERIC_CHAVE[:-1] + "A",
        ALPHANUMERIC_CHAVE.replace("C", "\u00c7"),
        ALPHANUMERIC_CHAVE.replace("A", "\u017f"),
    ],
)
def test_an_invalid_access_key_is_rejected(value):
    with pytest.raises(InvalidValue, match=r"^chave_nota is .*; expected 44 digits"):
        parse_chave_nota(value)


def test_the_access_key_check_digit_matches_the_manual():
    assert chave_nota_check_digit(CHAVE[:-1]) == 5
    assert has_valid_check_digit(CHAVE)
    for wrong in set("0123456789") - {"5"}:
        assert not has_valid_check_digit(CHAVE[:-1] + wrong)


@pytest.mark.parametrize(
    "text", [ALPHANUMERIC_CHAVE, ALPHANUMERIC_CHAVE.lower(), "3526 0712 abc3 4501" + ALPHANUMERIC_CHAVE[16:]]
)
def test_an_access_key_may_have_letters_in_its_cnpj(text):
    assert parse_chave_nota(text) == ALPHANUMERIC_CHAVE


def test_the_check_digit_counts_letters_by_their_ascii_code_less_48():
    assert has_valid_check_digit(ALPHANUMERIC_CHAVE)
    assert not has_valid_check_digit(ALPHANUMERIC_CHAVE.replace("ABC", "ABD"))
    assert not has_valid_check_digit(ALPHANUMERIC_CHAVE[:-1] + "5")


@given(st.from_regex(r"[0-9]{6}[0-9A-Z]{12}[0-9]{25}", fullmatch=True))
def test_the_access_key_check_digit_is_always_one_digit(first):
    digit = chave_nota_check_digit(first)
    assert 0 <= digit <= 9
    assert has_valid_check_digit(f"{first}{digit}")


@pytest.mark.parametrize(
    "text",
    ["ana@loja.com.br", "ana+nota@loja.com", "a.b_c-d'e@x-y.co", "joão@exemplo.com", "ana@ação.com.br", "x@xn--ao-via.com",
     "9f3c@olist.invalid", "a@b.co", f"{'l' * 64}@{'d' * 63}.com"],
)  # fmt: skip
def test_a_valid_email_is_accepted(text):
    assert is_email(text)


@pytest.mark.parametrize(
    "text",
    ["", "ana", "@loja.com", "ana@", "ana@loja", "ana@@loja.com", "ana@loja..com", "ana@.com", "ana@-loja.com",
     "ana@loja-.com", ".ana@loja.com", "ana.@loja.com", "a..b@loja.com", "ana @loja.com", "ana@loja.com ", "ana@loja.com\n",
     "ana\x00@loja.com", "ana\ud800@loja.com", "<ana@loja.com>", "ana@loja.com,bia@loja.com", "ana@127.0.0.1", "ana@loja.c",
     f"{'l' * 65}@loja.com", f"a@{'d' * 64}.com", "a@" + "d.d" * 90 + ".com", "ana@lo_ja.com",
     'a"b@loja.com', "ana\r\nbcc:x@y.com"],
)  # fmt: skip
def test_an_invalid_email_is_rejected(text):
    assert not is_email(text)


def test_the_maximum_email_length_is_in_bytes():
    domain = ".".join(["d" * 60] * 3) + ".com.br"
    longest = "a" * (254 - len(domain) - 1) + "@" + domain
    assert len(longest) == 254
    assert is_email(longest)
    assert not is_email(longest.replace("a", "á", 1))


def test_emails_are_normalized_for_comparison():
    assert normalize_email("  Ana@LOJA.com.BR ") == "ana@loja.com.br"
    assert normalize_email("joa\u0303o@x.com") == normalize_email("JOÃO@x.com") == "jo\u00e3o@x.com"


@given(st.text())
def test_normalizing_an_email_is_idempotent(text):
    assert normalize_email(normalize_email(text)) == normalize_email(text)


@pytest.mark.parametrize(
    "text,candidates",
    [
        (" Ana@Loja.com ", [(IdentifierType.EMAIL, "ana@loja.com")]),
        ("111.444.777-35", [(IdentifierType.CPF, "11144477735")]),
        ("52998224725", [(IdentifierType.CPF, "52998224725"), (IdentifierType.PHONE, "52998224725")]),
        ("12.abc.345/01de-35", [(IdentifierType.CNPJ, "12ABC34501DE35")]),
        ("11222333000182", [(IdentifierType.CNPJ, "11222333000182")]),
        ("(11) 91234-5678", [(IdentifierType.PHONE, "11912345678")]),
        ("+55 11 3234-5678", [(IdentifierType.PHONE, "1132345678")]),
        ("111.444.777-36", []),
        ("ana@", []),
        ("ana", []),
        ("", []),
        ("\x00", []),
        ("\ud800@x.com", []),
    ],
)
def test_an_identifier_is_classified_by_its_form(text, candidates):
    assert classify_identifier(text) == candidates


def test_eleven_digits_are_a_cpf_first_and_a_phone_second():
    both = next(digits for number in range(10**6) if is_cpf(digits := f"119{number:08d}") and normalize_phone(digits))
    assert classify_identifier(both) == [(IdentifierType.CPF, both), (IdentifierType.PHONE, both)]


@given(st.text(max_size=40))
def test_classified_identifiers_are_storable(text):
    for kind, value in classify_identifier(text):
        assert isinstance(kind, IdentifierType)
        assert value.encode()
        assert "\x00" not in value
