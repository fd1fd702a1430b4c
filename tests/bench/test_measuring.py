from __future__ import annotations

import json

import pytest

from bench import measuring, reporting
from bench.contestants.json_sql import Style
from bench.contestants.limit_sql import READS, statement
from bench.database import Size
from bench.load import Answer, Sample
from bench.measuring import Different, Measuring, Pace, Result
from bench.work import ITEMS, Facts


class _Server:
    def __init__(self, name):
        self.address = name


def _compare(monkeypatch, answers):
    """Compare what two servers answer to Q1."""
    monkeypatch.setattr(
        measuring, "ask", lambda name, request: Answer(200, json.dumps(answers[name]).encode())
    )
    servers = {name: _Server(name) for name in answers}
    asked = {name: [b""] for name in answers}
    Measuring(servers, Facts(Size()), None, Pace(1, 1.0))._compare(ITEMS[0], asked)


def test_answers_that_differ_in_a_value_end_the_run(monkeypatch):
    limit = {"data": {"products": [{"id": "a", "price_cents": 100}]}}
    other = {"data": {"products": [{"id": "a", "price_cents": 101}]}}

    with pytest.raises(Different, match=r"products\[0\].price_cents: 100 and 101"):
        _compare(monkeypatch, {"limit": limit, "vitrine": other})


def test_answers_may_differ_in_what_is_no_data(monkeypatch):
    limit = {"data": {"products": [{"id": "a", "price_cents": 100}]}}
    # PostGraphile writes 64-bit integers as texts, Vitrine tells the cost of a document.
    postgraphile = {"data": {"products": [{"id": "a", "price_cents": "100"}]}}
    vitrine = limit | {"extensions": {"cost": 1}}

    _compare(monkeypatch, {"limit": limit, "postgraphile": postgraphile, "vitrine": vitrine})


def test_the_table_gives_medians_and_ratios_beside_the_bars():
    about = {"commit": "abc", "left out": []}
    results = [
        Result("Q1", name, [Sample(rate, 1.0, 2.0, 100) for rate in rates], [5.0])
        for name, rates in (("limit", (900, 1_000, 2_000)), ("vitrine", (700, 800, 100)))
    ]

    table = reporting.markdown(about, results)

    assert "| 1,000 | 700 | 0.70 | 0.7 |" in table


@pytest.mark.parametrize("style", list(Style))
@pytest.mark.parametrize("item", list(READS))
async def test_the_limits_statements_run_on_todays_tables(database, shop, item, style):
    # The bench finds out itself whether they give what Vitrine gives; that they still run is seen here.
    single = {
        "Q3": shop.mug.id,
        "R3": shop.mug.id,
        "Q4": shop.order.id,
        "R4": shop.order.id,
        "L2": shop.order.number,
    }
    arguments = [shop.store.id, *([single[item]] if item in single else [])]

    shown = await shop.value(statement(item, style), *arguments)

    assert json.loads(shown)
