import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel import codes
from kernel.codes import (
    CALL_REQUEST_STATUSES,
    CATEGORY_STATUSES,
    ORDER_STATUSES,
    PRODUCT_STATUSES,
    USER_STATUSES,
    USER_TYPES,
    VENDOR_STATUSES,
    WAREHOUSE_STATUSES,
    CodeTable,
    parse_code,
    with_codes,
)
from kernel.text import InvalidValue, repr_value

TABLES = {name: table for name, table in vars(codes).items() if isinstance(table, CodeTable)}


@pytest.mark.parametrize(
    "words,expected",
    [
        ("O o open pending created Open", "O"),
        ("P p processed paid processing approved PAID", "P"),
        ("C c complete completed delivered shipped", "C"),
        ("D d declined", "D"),
        ("F f failed", "F"),
        ("I i cancelled canceled Cancelled", "I"),
        ("B b backordered", "B"),
    ],
)
def test_an_order_status_is_parsed_from_its_code_or_any_label(words, expected):
    for word in words.split():
        assert parse_code(word, ORDER_STATUSES) == expected


@pytest.mark.parametrize(
    "word,expected",
    [("active", "A"), ("disabled", "D"), ("inactive", "D"), ("hidden", "H"), ("pending", "P"), ("h", "H")],
)
def test_a_product_status_is_parsed_from_its_code_or_any_label(word, expected):
    assert parse_code(word, PRODUCT_STATUSES) == expected


@pytest.mark.parametrize("word,expected", [("in_progress", "I"), ("In progress", "I"), ("no answer", "F")])
def test_a_label_of_several_words_may_have_spaces(word, expected):
    assert parse_code(word, CALL_REQUEST_STATUSES) == expected


@pytest.mark.parametrize(
    "value", ["Z", "", " O", "O ", "OP", "opened", "\u0131", "\u017f", "İ", None, 1, True, ["O"], "O\x00"]
)
def test_an_unknown_code_is_rejected_listing_the_allowed_codes(value):
    with pytest.raises(InvalidValue) as error:
        parse_code(value, ORDER_STATUSES)
    assert str(error.value) == f"status is {repr_value(value)}; expected one of O, P, C, D, F, I, B"


def test_every_entity_has_its_own_codes():
    assert PRODUCT_STATUSES.codes == ("A", "D", "H", "P")
    assert CATEGORY_STATUSES.codes == ("A", "D", "H")
    assert USER_STATUSES.codes == ("A", "D", "P")
    assert VENDOR_STATUSES.codes == ("A", "D", "P", "N")
    assert WAREHOUSE_STATUSES.codes == ("A", "D")
    assert CALL_REQUEST_STATUSES.codes == ("N", "I", "C", "F")
    with pytest.raises(InvalidValue, match=r"user_type is 'X'; expected one of A, V, C"):
        parse_code("X", USER_TYPES)


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_single_capitals_and_unique_labels(name):
    table = TABLES[name]
    labels = [label for labels in table.labels.values() for label in labels]
    assert all(len(one) == 1 and "A" <= one <= "Z" for one in table.codes)
    assert len(labels) == len(set(labels))
    assert all(len(label) > 1 and label == label.lower() for label in labels)
    for one in table.codes:
        assert parse_code(one, table) == parse_code(one.lower(), table) == parse_code(table.name(one), table) == one


def test_a_store_can_add_custom_order_statuses():
    extended = with_codes(ORDER_STATUSES, ["X", "Y", "O"])
    assert extended.codes == ("O", "P", "C", "D", "F", "I", "B", "X", "Y")
    assert parse_code("x", extended) == "X"
    assert parse_code("open", extended) == "O"
    assert extended.name("X") == "X"
    assert ORDER_STATUSES.codes == ("O", "P", "C", "D", "F", "I", "B")


@pytest.mark.parametrize("new", ["x", "", "XY", "1", "Á"])
def test_a_custom_code_must_be_one_capital(new):
    with pytest.raises(ValueError, match="one capital"):
        with_codes(ORDER_STATUSES, [new])


@given(st.text())
def test_parse_code_returns_only_codes_of_the_table(text):
    try:
        assert parse_code(text, ORDER_STATUSES) in ORDER_STATUSES.codes
    except InvalidValue:
        pass
