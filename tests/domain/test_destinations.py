"""Which destination an address belongs to, and what destinations may hold."""

from __future__ import annotations

import pytest

from domain.destinations.destinations import create_destination, delete_destination, update_destination
from domain.destinations.places import (
    Candidate,
    DestinationAddress,
    find_destination,
    most_specific,
    place_of,
)
from domain.taxes.taxes import create_tax
from kernel.errors import NotFound, ValidationFailed
from kernel.places import state_of_cep
from tests.domain.kit import unknown


def candidate(number, *, countries=(), states=(), cities=(), width=None, zipped=False):
    return Candidate(number, countries, states, cities, zipped or width is not None, width)


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
def test_a_cep_lies_in_a_state(cep, state):
    assert state_of_cep(cep) == state


def test_what_is_narrower_goes_before():
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
        assert most_specific(reversed(rest), place) == rest[0].id
    assert most_specific([], place) is None


def test_all_that_is_filled_must_hold():
    place = DestinationAddress("BR", "SP", "", "01310100")
    assert most_specific([candidate(1, states=("SP",), cities=("santos",))], place) is None
    assert most_specific([candidate(1, states=("RJ",), width=3)], place) is None
    assert most_specific([candidate(1, states=("SP",), zipped=True)], place) is None
    assert most_specific([candidate(1, countries=("AR",))], place) is None


def test_of_equals_the_older_counts():
    assert (
        most_specific(
            [candidate(9, states=("SP",)), candidate(4, states=("SP",))], DestinationAddress(state="SP")
        )
        == 4
    )


def test_the_state_is_told_from_the_cep_where_it_is_missing():
    assert place_of({"zipcode": "01310-100"}) == DestinationAddress("BR", "SP", "", "01310100")
    assert place_of({"zipcode": "01310-100", "country": "ar"}).state == ""
    assert place_of({"city": " São Paulo ", "state": "sp"}) == DestinationAddress("BR", "SP", "sao paulo", "")
    assert not place_of({"country": "BR"}).is_known
    assert not place_of(None).is_known


async def test_a_cep_belongs_to_the_most_specific_destination_that_holds_it(shop):
    brazil = await create_destination(shop.scope, {"name": "Brasil", "countries": ["br"]})
    state = await create_destination(shop.scope, {"name": "SP", "states": ["SP"]})
    capital = await create_destination(
        shop.scope,
        {"name": "Capital", "zipcodes": [{"zipcode_from": "01000-000", "zipcode_to": "05999-999"}]},
    )
    street = await create_destination(
        shop.scope, {"name": "Paulista", "zipcodes": [{"zipcode_from": "01310100"}]}
    )
    for cep, expected in (
        ("01310100", street),
        ("01310101", capital),
        ("13000000", state),
        ("20000000", brazil),
    ):
        assert await find_destination(shop.scope, place_of({"zipcode": cep})) == expected
    await update_destination(shop.scope, street, {"status": "D"})
    assert await find_destination(shop.scope, place_of({"zipcode": "01310100"})) == capital
    await delete_destination(shop.scope, capital)
    assert await find_destination(shop.scope, place_of({"zipcode": "01310100"})) == state


async def test_another_stores_destinations_hold_nothing_here(shop, other_shop):
    await create_destination(other_shop.scope, {"name": "Brasil"})
    assert await find_destination(shop.scope, place_of({"zipcode": "01310100"})) is None


async def test_a_destination_changes_partially(shop):
    number = await create_destination(
        shop.scope,
        {
            "name": "Sul",
            "states": ["RS", "SC", "RS"],
            "cities": ["Pelotas"],
            "zipcodes": [{"zipcode_from": "90000000"}],
        },
    )
    await update_destination(shop.scope, number, {"cities": []})
    record = await shop.record("destinations", number)
    assert (record["name"], record["states"], record["cities"]) == ("Sul", ["RS", "SC"], [])
    ranges = "SELECT zipcode_from, zipcode_to FROM destination_zipcodes WHERE tenant_id = $1"
    assert [tuple(row) for row in await shop.rows(ranges)] == [("90000000", "90000000")]
    await update_destination(shop.scope, number, {"zipcodes": []})
    assert await shop.rows(ranges) == []
    await delete_destination(shop.scope, number)
    for reference in (number, unknown()):
        with pytest.raises(NotFound, match="destination not found"):
            await update_destination(shop.scope, reference, {"name": "x"})


@pytest.mark.parametrize(
    "given, fields",
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
async def test_what_is_wrong_with_a_destination_is_named(shop, given, fields):
    with pytest.raises(ValidationFailed) as refusal:
        await create_destination(shop.scope, {"name": "x", **given})
    assert refusal.value.fields == fields


async def test_states_of_other_countries_are_taken_as_they_are(shop):
    assert await create_destination(shop.scope, {"name": "x", "countries": ["US"], "states": ["CA"]})


async def test_with_a_destination_go_the_rates_for_it(shop):
    number = await create_destination(shop.scope, {"name": "Sul"})
    await shop.shipping(rates=[{"destination": number, "base_cents": 1}])
    await create_tax(shop.scope, {"name": "ICMS", "rates": [{"destination": number, "rate_value": 1}]})
    await delete_destination(shop.scope, number)
    for table in ("shipping_rates", "tax_rates"):
        assert await shop.value(f"SELECT count(*) FROM {table} WHERE tenant_id = $1") == 0
