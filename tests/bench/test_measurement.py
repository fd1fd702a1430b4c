from __future__ import annotations

import inspect
import json

import pytest

from bench import measurement, report, storefront
from bench.bars import growth_bar, ratio_bars
from bench.contestants import limit_rows, row_reads, storefront_rows, storefront_sql
from bench.contestants.json_sql import Style
from bench.contestants.limit_sql import READS, statement
from bench.database import Size
from bench.load import Response, Sample
from bench.measurement import Measurement, ResponsesDiffer, Result, Schedule
from bench.requests import RequestData
from bench.workloads import WORKLOADS
from rest_facade.legacy.resource import IN_CSCART
from rest_facade.legacy.resources.products import PRODUCTS


class _Server:
    def __init__(self, name):
        self.address = name


def _compare(monkeypatch, responses):
    """Compare the responses of two servers to Q1."""
    monkeypatch.setattr(
        measurement, "send_request", lambda name, request: Response(200, json.dumps(responses[name]).encode())
    )
    servers = {name: _Server(name) for name in responses}
    requests = {name: [b""] for name in responses}
    Measurement(servers, RequestData(Size()), None, Schedule(1, 1.0))._compare(WORKLOADS[0], requests)


def test_different_responses_end_the_run(monkeypatch):
    limit = {"data": {"products": [{"id": "a", "price_cents": 100}]}}
    other = {"data": {"products": [{"id": "a", "price_cents": 101}]}}

    with pytest.raises(ResponsesDiffer, match=r"products\[0\].price_cents: 100 and 101"):
        _compare(monkeypatch, {"limit": limit, "vitrine": other})


def test_extensions_and_string_numbers_are_not_differences(monkeypatch):
    limit = {"data": {"products": [{"id": "a", "price_cents": 100}]}}
    # PostGraphile returns 64-bit integers as strings, Vitrine the cost of a document.
    postgraphile = {"data": {"products": [{"id": "a", "price_cents": "100"}]}}
    vitrine = limit | {"extensions": {"cost": 1}}

    _compare(monkeypatch, {"limit": limit, "postgraphile": postgraphile, "vitrine": vitrine})


def _results(item, contestant, rates, style=""):
    return Result(item, contestant, [Sample(rate, 1.0, 2.0, 100) for rate in rates], [5.0], style=style)


def test_the_table_shows_medians_ratios_and_the_style_of_the_limit():
    about = {"commit": "abc", "left out": []}
    results = [
        _results("Q1", "limit", (900, 1_000, 2_000), "rows"),
        _results("Q1", "vitrine", (700, 800, 100)),
        _results("Q3", "limit", (2_000,)),
        _results("Q3", "vitrine", (1_000,)),
    ]

    table = report.markdown(about, results, ratio_bars(results))

    assert "| 1,000 | 700 | rows | 0.70 |" in table
    assert "| Q3, of the handler | 0.50 | at least 0.55 | **not met** |" in table


def test_a_bar_is_met_from_its_ratio_on_and_absent_without_a_measurement():
    results = [_results("W6", "vitrine", [70]), _results("W7", "vitrine", [100]), _results("W1", "vitrine", [100])]

    assert [(bar.measured, bar.is_met) for bar in ratio_bars(results)] == [("0.70", True)]


def test_reads_are_compared_with_twice_the_rate_of_postgraphile_and_writes_with_a_tenth_more():
    rates = {"Q1": 199, "W1": 110}
    results = [_results(item, "vitrine", [rate]) for item, rate in rates.items()]
    results += [_results(item, "postgraphile", [100]) for item in rates]

    assert [(bar.name, bar.required, bar.is_met) for bar in ratio_bars(results)] == [
        ("Q1, of PostGraphile", "at least 2", False),
        ("W1, of PostGraphile", "at least 1.1", True),
    ]


def test_the_handler_of_l1_returns_every_field_of_a_legacy_product():
    parameters = list(inspect.signature(limit_rows.product_record, eval_str=True).parameters.values())

    record = limit_rows.product_record([], *(parameter.annotation() for parameter in parameters[1:]))

    different = record.keys() ^ {field.name for field in PRODUCTS.fields if field.permission != IN_CSCART}
    assert not different, f"bench/contestants/limit_rows.py and the legacy product differ in {sorted(different)}"


def test_growth_is_compared_by_cpu_time():
    assert growth_bar("Q1", "stores", [100.0, 90.0, 110.0]).is_met
    assert not growth_bar("Q1", "stores", [100.0, 90.0, 111.0]).is_met


@pytest.mark.parametrize("style", list(Style))
@pytest.mark.parametrize("item", list(READS))
async def test_the_statements_of_the_limit_match_the_schema(database, sample, item, style):
    # The benchmark itself compares the results with Vitrine's.
    single = {
        "Q3": sample.mug.id,
        "R3": sample.mug.id,
        "Q4": sample.order.id,
        "R4": sample.order.id,
        "L2": sample.order.number,
    }
    arguments = [sample.store.id, *([single[item]] if item in single else [])]

    result = await sample.value(statement(item, style), *arguments)

    assert json.loads(result)


@pytest.mark.parametrize("item", [item for item in row_reads.READS if item in READS])
async def test_rows_become_the_same_json_as_in_the_other_styles(database, sample, item):
    single = {"Q3": sample.mug.id, "Q4": sample.order.id}
    arguments = [sample.store.id, *([single[item]] if item in single else [])]

    async def fetch(name, *values):
        return await sample.rows(row_reads.STATEMENTS[name], *values)

    rows = json.loads(await row_reads.READS[item](fetch, arguments))

    assert rows == json.loads(await sample.value(statement(item, Style.TEXTS), *arguments))


@pytest.mark.parametrize("style", list(Style))
@pytest.mark.parametrize("item, key", [("S2", "slug"), ("S6", "user")])
async def test_the_statements_of_the_pages_match_the_schema(database, sample, item, key, style):
    slug = await sample.value(
        "SELECT slug FROM products WHERE tenant_id = $1 AND id = $2", sample.store.id, sample.mug.number
    )
    arguments = {"slug": [slug], "user": [sample.bia.id, sample.bia.id]}[key]

    result = await sample.value(storefront_sql.statement(item, style), sample.store.id, *arguments)

    assert json.loads(result)


async def test_the_rows_of_a_page_match_the_schema(database, sample):
    async def fetch(name, *values):
        return await sample.rows(storefront_rows.STATEMENTS[name], *values)

    page = json.loads(await storefront_rows.READS["S1"](fetch, (sample.store.id, {"sort": "PRICE_ASC"}, None)))

    assert page["data"]["product_connection"]["edges"][0]["node"]["pricing"]["base_cents"] > 0


def test_pages_are_compared_by_the_cpu_time_of_server_and_database():
    limit, vitrine, cached = (_results("S1", name, [100]) for name in ("limit", "vitrine", "cached"))
    for result, database_us in ((limit, 95.0), (vitrine, 195.0), (cached, 45.0)):
        result.database_us = [database_us]

    assert [(bar.measured, bar.is_met) for bar in storefront.bars([limit, vitrine, cached])] == [
        ("0.50 (rate 1.00)", True),
        ("2.00 (rate 1.00)", False),
    ]


def test_the_pages_are_operations_of_the_guide():
    assert [item.name for item in storefront.workloads()] == [f"S{number}" for number in range(1, 9)]
    with pytest.raises(ValueError, match="no operation Nothing"):
        storefront.operation("Nothing")
