"""Matching addresses to destinations, and validating destinations."""

from __future__ import annotations

import pytest

from domain.destinations.destinations import DESTINATION_RECORDS
from domain.destinations.matching import (
    DestinationAddress,
    DestinationCandidate,
    destination_address,
    find_destination,
    most_specific,
)
from domain.taxes.taxes import TAX_RECORDS
from kernel.errors import NotFound, ValidationFailed
from kernel.geography import STATES, state_code, state_of_cep
from tests.harness.domain_store import unknown


def candidate(number, *, countries=(), states=(), cities=(), width=None, zipped=False):
    return DestinationCandidate(number, countries, states, cities, zipped or width is not None, width)


@pytest.mark.parametrize(
    "cep, state",
    [
        ("01001000", "SP"),
        ("19999999", "SP"),
        ("20000000", "RJ"),
        ("69300000", "RR"),
        ("69400000", "AM"),
        ("70000000", "DF"),
        ("72800000", "GO"),
        ("73000000", "DF"),
        ("73700000", "GO"),
        ("99999999", "RS"),
        ("00999999", ""),
        ("0100100", ""),
        ("", ""),
        ("\u0660" * 8, ""),
    ],
)
def test_a_cep_determines_the_state(cep, state):
    assert state_of_cep(cep) == state


def test_the_more_specific_destination_wins():
    place = DestinationAddress("BR", "SP", "sao paulo", "01310100")
    world = candidate(1)
    brazil = candidate(2, countries=("BR",))
    south_east = candidate(3, states=("SP", "RJ"))
    state = candidate(4, states=("SP",))
    city = candidate(5, cities=("sao paulo",))
    wide = candidate(6, width=5_000_000)
    narrow = candidate(7, width=0)
    ordered = [narrow, wide, city, state, south_east, brazil, world]
    for place_in_order in range(len(ordered)):
        rest = ordered[place_in_order:]
        assert most_specific(reversed(rest), place) == rest[0].id, place_in_order
    assert most_specific([], place) is None


def test_all_lists_must_match():
    place = DestinationAddress("BR", "SP", "", "01310100")
    assert most_specific([candidate(1, states=("SP",), cities=("santos",))], place) is None
    assert most_specific([candidate(1, states=("RJ",), width=3)], place) is None
    assert most_specific([candidate(1, states=("SP",), zipped=True)], place) is None
    assert most_specific([candidate(1, countries=("AR",))], place) is None


def test_ties_go_to_the_older_destination():
    assert (
        most_specific([candidate(9, states=("SP",)), candidate(4, states=("SP",))], DestinationAddress(state="SP")) == 4
    )


def test_a_missing_state_is_derived_from_the_cep():
    assert destination_address({"zipcode": "01310-100"}) == DestinationAddress("BR", "SP", "", "01310100")
    assert destination_address({"zipcode": "01310-100", "country": "ar"}).state == ""
    assert destination_address({"city": " São Paulo ", "state": "sp"}) == DestinationAddress(
        "BR", "SP", "sao paulo", ""
    )
    assert not destination_address({"country": "BR"}).is_specified
    assert not destination_address(None).is_specified


@pytest.mark.parametrize(
    "text, code",
    [
        ("São Paulo", "SP"), ("sao paulo", "SP"), ("SA\u0303O  PAULO ", "SP"), ("sp", "SP"), ("Pará", "PA"), ("Paraná", "PR"),
        ("Mato Grosso do Sul", "MS"), ("Paulo", "PAULO"), ("x y", "X Y"), ("", ""),
    ],
)  # fmt: skip
def test_a_state_of_brazil_may_be_named(text, code):
    assert state_code(text) == code
    assert destination_address({"state": text}).state == code
    assert destination_address({"state": text, "country": "PE"}).state == text.strip().upper()


def test_every_state_has_a_name():
    assert {state_of_cep(f"{start:05}000") for start in range(1_000, 100_000, 100)} == STATES


async def test_destinations_list_states_by_name(kit):
    number = await DESTINATION_RECORDS.create(kit.scope, {"name": "Sul", "states": ["Santa Catarina", "SC", "rs"]})
    assert (await kit.record("destinations", number))["states"] == ["SC", "RS"]
    assert await find_destination(kit.scope, destination_address({"state": "Rio Grande do Sul"})) == number


async def test_a_cep_matches_the_most_specific_destination(kit):
    brazil = await DESTINATION_RECORDS.create(kit.scope, {"name": "Brasil", "countries": ["br"]})
    state = await DESTINATION_RECORDS.create(kit.scope, {"name": "SP", "states": ["SP"]})
    capital = await DESTINATION_RECORDS.create(
        kit.scope,
        {"name": "Capital", "zipcodes": [{"zipcode_from": "01000-000", "zipcode_to": "05999-999"}]},
    )
    street = await DESTINATION_RECORDS.create(
        kit.scope, {"name": "Paulista", "zipcodes": [{"zipcode_from": "01310100"}]}
    )
    for cep, expected in (
        ("01310100", street),
        ("01310101", capital),
        ("13000000", state),
        ("20000000", brazil),
    ):
        assert await find_destination(kit.scope, destination_address({"zipcode": cep})) == expected
    await DESTINATION_RECORDS.update(kit.scope, street, {"status": "D"})
    assert await find_destination(kit.scope, destination_address({"zipcode": "01310100"})) == capital
    await DESTINATION_RECORDS.delete(kit.scope, capital)
    assert await find_destination(kit.scope, destination_address({"zipcode": "01310100"})) == state


async def test_another_stores_destinations_never_match(kit, other_kit):
    await DESTINATION_RECORDS.create(other_kit.scope, {"name": "Brasil"})
    assert await find_destination(kit.scope, destination_address({"zipcode": "01310100"})) is None


async def test_a_destination_is_updated_partially(kit):
    number = await DESTINATION_RECORDS.create(
        kit.scope,
        {
            "name": "Sul",
            "states": ["RS", "SC", "RS"],
            "cities": ["Pelotas"],
            "zipcodes": [{"zipcode_from": "90000000"}],
        },
    )
    await DESTINATION_RECORDS.update(kit.scope, number, {"cities": []})
    record = await kit.record("destinations", number)
    assert (record["name"], record["states"], record["cities"]) == ("Sul", ["RS", "SC"], [])
    ranges = "SELECT zipcode_from, zipcode_to FROM destination_zipcodes WHERE tenant_id = $1"
    assert [tuple(row) for row in await kit.rows(ranges)] == [("90000000", "90000000")]
    await DESTINATION_RECORDS.update(kit.scope, number, {"zipcodes": []})
    assert await kit.rows(ranges) == []
    await DESTINATION_RECORDS.delete(kit.scope, number)
    for reference in (number, unknown()):
        with pytest.raises(NotFound, match="destination not found"):
            await DESTINATION_RECORDS.update(kit.scope, reference, {"name": "x"})


@pytest.mark.parametrize(
    "values, fields",
    [
        ({"name": ""}, {"name": "name_required"}),
        ({"status": "Z"}, {"status": "status_invalid"}),
        ({"countries": "BR"}, {"countries": "countries_invalid"}),
        ({"countries": ["BRA"]}, {"countries": "countries_invalid"}),
        ({"states": ["XX"]}, {"states": "states_invalid"}),
        ({"cities": [1]}, {"cities": "cities_invalid"}),
        ({"cities": ["x\x00"]}, {"cities": "cities_invalid"}),
        ({"zipcodes": [1]}, {"zipcodes": "zipcodes_invalid"}),
        ({"zipcodes": [{"zipcode_from": "1"}]}, {"zipcodes": "zipcodes_invalid"}),
        (
            {"zipcodes": [{"zipcode_from": "02000000", "zipcode_to": "01000000"}]},
            {"zipcodes": "zipcodes_invalid"},
        ),
        (
            {
                "zipcodes": [
                    {"zipcode_from": "01000000", "zipcode_to": "02000000"},
                    {"zipcode_from": "02000000", "zipcode_to": "03000000"},
                ]
            },
            {"zipcodes": "zipcodes_invalid"},
        ),
    ],
)
async def test_destination_field_errors_are_reported(kit, values, fields):
    with pytest.raises(ValidationFailed) as error:
        await DESTINATION_RECORDS.create(kit.scope, {"name": "x", **values})
    assert error.value.fields == fields


async def test_states_of_other_countries_are_not_validated(kit):
    assert await DESTINATION_RECORDS.create(kit.scope, {"name": "x", "countries": ["US"], "states": ["CA"]})


async def test_deleting_a_destination_deletes_its_rates(kit):
    number = await DESTINATION_RECORDS.create(kit.scope, {"name": "Sul"})
    await kit.shipping(rates=[{"destination": number, "base_cents": 1}])
    await TAX_RECORDS.create(kit.scope, {"name": "ICMS", "rates": [{"destination": number, "rate_value": 1}]})
    await DESTINATION_RECORDS.delete(kit.scope, number)
    for table in ("shipping_rates", "tax_rates"):
        assert await kit.value(f"SELECT count(*) FROM {table} WHERE tenant_id = $1") == 0
