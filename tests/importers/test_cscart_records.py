"""Import answers in the shapes that CS-Cart's documentation shows, with PHP's numbers as texts, empty arrays and missing members."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from domain.catalog.product_options import ANY_VARIANT
from kernel.clock import now
from kernel.scope import Store
from server.importers.cscart import run
from server.importers.cscart.report import Report
from server.importers.cscart.source import NotOffered
from tests.harness.scopes import execute, rows, value
from tests.importers.cscart_answers import PRODUCT, line, order, row_of, shop
from tests.importers.shops import SavedShop


@pytest.fixture(scope="module")
async def imported(new_store: Any) -> tuple[Store, Report]:
    store = await new_store()
    return store, await run.run(shop(), store.public_id)


async def of(store: Store, table: str, columns: str, where: str = "true") -> list[tuple[Any, ...]]:
    sql = f"SELECT {columns} FROM {table} WHERE tenant_id = $1 AND {where} ORDER BY 1, 2"
    return [tuple(row) for row in await rows(store, sql, store.id)]


async def test_languages_and_statuses_get_the_numbers_of_the_source(imported: tuple[Store, Report]) -> None:
    store, _ = imported
    assert await of(store, "languages", "id, code") == [(1, "pt"), (3, "en")]
    statuses = {
        row[1]: row
        for row in await of(store, "statuses", "id, letter, description, color, inventory, notify", "type = 'O'")
    }
    assert statuses["C"] == (1, "C", "Complete", "#97cf4d", "D", True)
    assert statuses["O"][0] == 6
    assert statuses["O"][4] == "D", "a built-in status keeps its rule"
    assert statuses["Y"] == (20, "Y", "Awaiting call", "", "I", False)
    assert len({row[0] for row in statuses.values()}) == 8, "those that the source doesn't have got other numbers"
    assert await value(store, "SELECT status_letters ->> 'O' FROM tenants WHERE id = $1", store.id) == '{"Y": "I"}'


async def test_people_are_brought_without_passwords(imported: tuple[Store, Report]) -> None:
    store, report = imported
    users = await of(store, "users", "id, email, user_type, phone, points, password_hash")
    assert users == [
        (1, "admin@example.com", "A", None, 0, None),
        (3, "customer@example.com", "C", "16463863600", 12, None),
    ]
    assert await of(store, "usergroups", "id, name, privileges") == [
        (4, "Wholesale", []),
        (5, "Managers", ["manage_catalog"]),
    ]
    assert await of(store, "usergroup_memberships", "user_id, usergroup_id, status") == [(1, 5, "A")]
    assert ("users", "4", "another user of the store has the e-mail") in report.failures
    assert any(entity == "users" and number == "5" and "email" in reason for entity, number, reason in report.failures)
    assert ("users", "phone is 'n/a'; expected a telephone number; left out") in report.notes


async def test_the_tree_of_categories_is_brought_parents_first(imported: tuple[Store, Report]) -> None:
    store, report = imported
    assert await of(store, "vendors", "id, description") == [(1, "<p>Best</p>")]
    assert await of(store, "categories", "id, name, id_path, position, status, vendor_id") == [
        (166, "Clothes", "166", 0, "A", None),
        (167, "Sport", "167", 0, "A", None),
        (224, "Pants", "166/224", 0, "H", 1),
    ]
    texts = await of(store, "categories", "page_title, meta_keywords, meta_description", "id = 224")
    assert texts == [("Pants & more", "pants, jeans", "For all.")]
    circle = [(number, reason) for entity, number, reason in report.failures if entity == "categories"]
    assert circle == [
        ("300", "parent_id 301 is not among the categories"),
        ("301", "parent_id 300 is not among the categories"),
    ]


async def test_a_product_is_brought_with_its_parts(imported: tuple[Store, Report]) -> None:
    store, report = imported
    columns = "id, name, sku, slug, price_cents, compare_at_cents, on_hand, status, tracking, weight_grams, category_id, vendor_id"
    assert await of(store, "products", columns) == [
        (12, "100g Pants", "U0012O5AF0", "100g-pants", 3000, 4000, 0, "H", "B", 350, 224, 1)
    ]
    assert await of(store, "products", "length_mm, width_mm, height_mm, gtin, shipping_freight_cents") == [
        (205, 150, 90, "", 250)
    ]
    columns = "quantity_step, quantity_choices, low_stock_limit, available_since, out_of_stock_action, zero_price_action, promo_text"
    assert await of(store, "products", columns) == [
        (2, 5, 3, datetime.fromtimestamp(1456917981, UTC), "B", "P", "<b>Sale</b>")
    ]
    assert await of(store, "product_categories", "position, category_id") == [(0, 224), (1, 167)]
    assert await of(store, "product_images", "position, id, url") == [
        (0, 823, "http://shop.example/a.jpg"),
        (1, 824, "http://shop.example/b.jpg"),
        (3, 826, "/images/d.jpg"),
    ]
    assert await of(store, "product_taxes", "product_id, tax_id") == [(12, 6)]
    assert await of(store, "feature_values", "feature_id, variant_id, value, value_int") == [
        (18, 86, "", None),
        (19, None, "", None),
        (20, None, "12.50", 12),
        (21, None, "2013-01-01", 1356998400),
        (22, None, "Y", None),
    ]
    assert await of(store, "feature_value_variants", "variant_id, 1") == [(90, 1), (91, 1)]
    notes = {text for entity, text in report.notes if entity == "products"}
    assert "amount is below zero; 0 was brought" in notes
    assert "usergroup_ids 2,4 restrict who sees it; here everybody does" in notes
    assert "prices by quantity and usergroup are left out" in notes
    assert "tax 99 is not among the taxes; left out" in notes
    assert any("'ftp://shop.example/c.jpg'" in text for text in notes)
    assert any(text.startswith("the value of feature 24 ") for text in notes)


async def test_the_report_names_what_nothing_here_reads(imported: tuple[Store, Report]) -> None:
    _, report = imported
    lines = [line for line in report.lines() if line.startswith("not read")]
    assert "not read: products: popularity (1), product_type (1)" in lines
    assert not any("company_name" in line or "sales_amount" in line for line in lines)


async def test_combinations_keep_the_measures_of_their_own(imported: tuple[Store, Report]) -> None:
    store, _ = imported
    measures = await of(store, "combinations", "id, sku, length_mm, width_mm, shipping_freight_cents, gtin")
    assert [row[1:] for row in measures] == [("S", None, None, None, None), ("L", 75, None, 120, None)]


async def test_a_combination_never_gets_the_number_of_a_deleted_one(new_store: Any) -> None:
    store = await new_store()
    await run.run(shop(), store.public_id)
    await execute(store, "UPDATE combinations SET deleted_at = now() WHERE tenant_id = $1 AND id = 2", store.id)
    medium = {"product_id": "12", "product_code": "M", "combination_hash": "7", "combination": {"3": "13"}}
    report = await run.run(shop(**{"combinations?product_id=12": [medium]}), store.public_id)
    assert not [failure for failure in report.failures if failure[0] == "combinations"]
    assert await of(store, "combinations", "id, sku", "deleted_at IS NULL") == [(1, "S"), (3, "M")]


async def test_options_are_read_product_by_product(imported: tuple[Store, Report]) -> None:
    store, report = imported
    assert await of(store, "options", "id, product_id, name, type, inventory") == [
        (3, 12, "Size", "S", True),
        (4, None, "Gift", "C", False),
    ]
    assert await of(store, "option_variants", "id, name, modifier, modifier_type, image_url") == [
        (12, "Small", 0, "A", ""),
        (13, "Large", -550, "P", "http://shop.example/images/variant_image/0/black.jpg"),
        (17, "0", 0, "A", ""),
        (18, "1", 0, "A", ""),
    ]
    assert await of(store, "product_options", "product_id, option_id") == [(12, 3), (12, 4)]
    assert await of(store, "combinations", "id, hash, sku, on_hand") == [(1, "3_12", "S", 50), (2, "3_13", "L", 0)]
    assert await of(store, "option_exceptions", "id, type, hash") == [
        (1, "A", "3_12_4_17"),
        (5, "A", "3_13_4_0"),
        (6, "A", f"3_{ANY_VARIANT}"),
    ]
    assert ("exceptions", "7", "it has no option variants") in report.failures


async def test_methods_are_brought_without_secrets(imported: tuple[Store, Report]) -> None:
    store, report = imported
    assert await of(store, "payment_methods", "id, name, processor, surcharge_percent, processor_params") == [
        (2, "Credit card", "PayPal", 250, None)
    ]
    assert await of(store, "payment_method_taxes", "payment_method_id, tax_id") == [(2, 6)]
    assert await of(store, "shipping_methods", "id, base_cents, per_kg_cents, delivery_time") == [
        (1, 2800, 250, "3-5 days")
    ]
    assert "destinations" in report.missing
    assert ("taxes", "the rate of destination 1 is not among the destinations; left out") in report.notes


async def test_orders_keep_their_amounts_and_times(imported: tuple[Store, Report]) -> None:
    store, report = imported
    columns = (
        "id, user_id, status, total_cents, subtotal_cents, shipping_cents, discount_cents, email, payment_status, stock_state,"
        " extract(epoch FROM created_at)::bigint, imported"
    )
    assert await of(store, "orders", columns) == [
        (97, 3, "O", 67795, 65000, 2795, 0, "customer@example.com", "unpaid", "N", 1456917981, True),
        (98, None, "C", 67795, 65000, 2795, 0, "customer@example.com", "paid", "N", 1456917981, True),
    ]
    assert await of(store, "orders", "company_name, fax", "id = 97") == [("Sol", "+1 333")]
    lines = await of(
        store, "order_lines", "order_id, position, id, product_id, vendor_id, quantity, price_cents, base_price_cents"
    )
    assert lines == [
        (97, 1, 1104482741, 12, 1, 2, 32500, 32500),
        (98, 1, lines[1][2], 12, 1, 1, 32500, 32500),
        (98, 2, 5, None, None, 3, 100, 100),
    ]
    assert lines[1][2] == 1104482742, "the item's number belongs to another order, so it got the next one"
    choices = (
        "SELECT jsonb_path_query_array(options, '$[*].*')::text FROM order_lines WHERE tenant_id = $1 AND order_id = 97"
    )
    assert '"Size"' in (shown := await value(store, choices, store.id))
    assert '"Small"' in shown
    assert "150" in shown
    assert "Deleted" not in shown
    assert await of(store, "order_taxes", "order_id, name, tax_id, amount_cents, included", "order_id = 97") == [
        (97, "VAT", 6, 6163, True)
    ]
    addresses = await of(store, "order_addresses", "kind, street, city, country, zipcode", "order_id = 97")
    assert addresses == [(kind, "44 Main street", "Boston", "US", "02134") for kind in "BS"]
    assert await of(store, "order_status_changes", "order_id, from_status, to_status, reason") == [
        (97, "", "X", ""),
        (97, "X", "O", ""),
        (98, "", "C", "imported"),
    ]
    assert await of(store, "payments", "id, order_id") == [], "what a processor stored is never brought"
    refused = {number: reason for entity, number, reason in report.failures if entity == "orders"}
    assert refused == {
        "99": "it only joins the orders of several vendors, which are brought themselves",
        "100": "status 'N' is not among the statuses",
        "101": "total is -1.00; expected zero or more",
    }
    assert ("orders", "product_id 999 is not among the products; left out") in report.notes
    assert (report.source.orders, report.target.orders) == (5, 2)
    assert "orders: 5 there, 2 here: different" in report.lines()


async def test_a_shipment_refers_to_the_line_of_its_order(imported: tuple[Store, Report]) -> None:
    store, report = imported
    assert await of(store, "shipments", "id, order_id, tracking_number, user_id") == [(1, 98, "T1", None)]
    assert await of(store, "shipment_lines", "shipment_id, order_line_id, quantity") == [(1, 1104482742, 1)]
    assert ("shipments", "2", "order_id 77 is not among the orders") in report.failures


async def test_posts_are_brought_with_their_threads(imported: tuple[Store, Report]) -> None:
    store, report = imported
    assert await of(store, "discussion_threads", "id, object_type, object_id") == [(7, "P", 12)]
    assert await of(store, "discussion_posts", "id, thread_id, rating, message") == [(18, 7, 4, "Good")]
    assert [number for entity, number, _ in report.failures if entity == "discussions"] == ["19"]


async def test_the_same_answers_again_add_nothing(imported: tuple[Store, Report]) -> None:
    store, first = imported
    again = await run.run(shop(), store.public_id)
    assert all(count.added == count.changed == 0 for count in again.counts.values())
    assert again.failures == first.failures


async def test_changed_answers_are_written_again_since(new_store: Any) -> None:
    store = await new_store()
    await run.run(shop(), store.public_id)
    changed = order(98, status="C", timestamp="1456917981", total="5.00", products={
        "6": line("6", "12", 4, "1.25"), "1104482741": line("1104482741", "12", 1, "325.00")})  # fmt: skip
    listed = {"orders": [row_of(order(97)), row_of(changed)], "params": {"total_items": "2"}}
    product = PRODUCT | {"price": "31.00", "seo_name": "", "product_features": [], "image_pairs": []}
    rows_ = {"products": [{"product_id": "12", "product": "100g Pants", "price": "31.000000"}]}
    await execute(store, "UPDATE products SET on_hand = 4, reserved = 3 WHERE tenant_id = $1", store.id)
    source = shop(orders=listed, products=rows_, **{"orders/98": changed, "products/12": product | {"amount": "7"}})
    report = await run.run(source, store.public_id, since=now())
    assert {entity: count.changed for entity, count in report.counts.items() if count.changed} == {
        "products": 1,
        "orders": 1,
    }
    assert "orders/97" not in source.asked, "what did not change is not read"
    assert await of(store, "products", "id, price_cents, on_hand, reserved, slug") == [(12, 3100, 10, 3, "100g-pants")]
    assert await of(store, "product_images", "id, position") == [(823, 0)]
    assert await of(store, "feature_values", "id, 1") == []
    assert await of(store, "order_lines", "position, id, quantity", "order_id = 98") == [(1, 6, 4), (2, 1104482742, 1)]
    assert await of(store, "orders", "id, total_cents") == [(97, 67795), (98, 500)]


async def test_a_line_that_was_shipped_here_is_not_taken_away(new_store: Any) -> None:
    store = await new_store()
    await run.run(shop(), store.public_id)
    changed = order(98, total="5.00", products={"6": line("6", "12", 4, "1.25")})
    listed = {"orders": [row_of(changed)], "params": {"total_items": "1"}}
    report = await run.run(shop(orders=listed, **{"orders/98": changed}), store.public_id, since=now())
    assert ("orders", "98", "a line that the source no longer has was shipped here") in report.failures
    assert await value(store, "SELECT total_cents FROM orders WHERE tenant_id = $1 AND id = 98", store.id) == 67795


async def test_a_record_of_the_store_keeps_its_number(new_store: Any) -> None:
    store = await new_store()
    await execute(
        store,
        "INSERT INTO products (tenant_id, id, public_id, name, slug, price_cents) VALUES ($1, 12, vitrine_uuid7(), 'Own', 'own', 1)",
        store.id,
    )
    report = await run.run(shop(), store.public_id)
    assert ("products", "12", "another record of the store has the number 12") in report.failures
    assert await of(store, "products", "id, name") == [(12, "Own")]


BAD_VALUES = {
    "price": "gratis",
    "amount": {"a": 1},
    "weight": "1e999",
    "timestamp": "99999999999999",
    "product": "",
    "category_ids": ["x"],
    "main_category": "../1",
    "status": "Z",
    "free_shipping": "maybe",
    "full_description": "a\u0000b",
}


async def test_a_record_with_an_unreadable_value_is_reported_and_not_written(store: Store) -> None:
    bad = [
        PRODUCT | {"product_id": str(number), "seo_name": "", name: unreadable}
        for number, (name, unreadable) in enumerate(BAD_VALUES.items(), start=100)
    ]
    report = await run.run(SavedShop({"products": {"products": [*bad, PRODUCT]}}), store.public_id)
    assert [number for _, number, _ in report.failures] == [record["product_id"] for record in bad]
    assert all(reason for _, _, reason in report.failures)
    assert await of(store, "products", "id, sku") == [(12, "U0012O5AF0")]


async def test_a_list_that_is_empty_brings_nothing(store: Store) -> None:
    answers: list[Any] = [
        [],
        {},
        {"products": None},
        {"products": False},
        {"products": {}, "params": {"total_items": []}},
    ]
    for answer in answers:
        report = await run.run(SavedShop({"products": answer}), store.public_id)
        assert report.counts["products"].read == 0, answer
        assert report.failures == [], answer


async def test_an_answer_that_is_no_list_is_reported(store: Store) -> None:
    answers: list[Any] = ["x", 7, {"products": "none"}, {"products": True}, {"status": "error", "message": "Locked"}]
    for answer in answers:
        report = await run.run(SavedShop({"products": answer}), store.public_id)
        [(entity, number, reason)] = report.failures
        assert (entity, number) == ("products", ""), answer
        assert reason.startswith("the list can't be read to its end: the answer is no list: "), answer


async def test_rows_that_are_no_records_are_reported_and_the_others_are_brought(store: Store) -> None:
    report = await run.run(SavedShop({"products": {"products": [1, PRODUCT, []]}}), store.public_id)
    assert report.failures == [("products", "?", "1 is no record")]
    assert await of(store, "products", "id, sku") == [(12, "U0012O5AF0")]


async def test_options_that_are_no_records_are_reported_and_the_others_are_brought(store: Store) -> None:
    listed = dict(shop().answers["options?product_id=12"])
    listed |= {"5": None, "6": {"option_id": "x", "product_id": "0"}}
    report = await run.run(shop(**{"options?product_id=12": listed}), store.public_id)
    assert [failure for failure in report.failures if failure[0] == "options"] == [
        ("options", "of product 12", "null is no record"),
        ("options", "x", "option_id: 'x' is no number of a record"),
    ]
    assert await of(store, "options", "id, name") == [(3, "Size"), (4, "Gift")]


@pytest.mark.parametrize(
    "member, reason",
    [({"product_id": None}, None), ({"product_id": "13"}, "the answer is the record 13")],
)
async def test_a_record_keeps_the_number_of_its_row(store: Store, member: dict[str, Any], reason: str | None) -> None:
    report = await run.run(shop(**{"products/12": PRODUCT | member}), store.public_id)
    failures = [text for entity, number, text in report.failures if (entity, number) == ("products", "12")]
    assert failures == ([] if reason is None else [reason])
    assert await of(store, "products", "id, sku") == ([(12, "U0012O5AF0")] if reason is None else [])


async def test_of_two_records_whose_parts_have_one_number_the_first_is_brought(store: Store) -> None:
    features = [
        {
            "feature_id": number,
            "description": "Size",
            "feature_type": "S",
            "variants": [{"variant_id": 7, "variant": "L"}],
        }
        for number in (1, 2)
    ]
    report = await run.run(SavedShop({"features": {"features": features}}), store.public_id)
    assert report.failures == [("features", "2", "another record of the store has a number of feature_variants")]
    assert await of(store, "feature_variants", "id, feature_id") == [(7, 1)]


async def test_a_combination_that_nothing_identifies_is_reported(store: Store) -> None:
    listed = [
        {"product_id": "12", "combination": {"3": "12"}},
        {"product_id": "12", "combination": {"3": "13"}, "combination_hash": "9"},
    ]
    report = await run.run(shop(**{"combinations?product_id=12": listed}), store.public_id)
    failures = [failure for failure in report.failures if failure[0] == "combinations"]
    assert failures == [("combinations", "?", "combination_id and combination_hash are missing")]
    assert report.counts["combinations"].added == 1


async def test_a_number_beyond_all_others_is_refused(store: Store) -> None:
    numbers = ["9" * 5000, 2**63 - 1, "9007199254740991"]
    rows = [PRODUCT | {"product_id": number} for number in numbers]
    report = await run.run(SavedShop({"products": {"products": rows}}), store.public_id)
    assert len(report.failures) == len(numbers)
    assert all("is no number of a record" in reason for _, _, reason in report.failures)


async def test_the_report_has_a_line_for_each_failure_whatever_the_source_sends(store: Store) -> None:
    rows = [PRODUCT | {"product_id": "\x1b[2J\n" + "x" * 100_000}]
    report = await run.run(SavedShop({"products": {"products": rows}}), store.public_id)
    [line] = [line for line in report.lines() if line.startswith("not brought")]
    assert line.isprintable()
    assert len(line) < 3_000


@pytest.mark.parametrize("status, here", [("R", "P"), ("X", "D"), ("h", "H")])
async def test_statuses_of_the_approval_of_products_have_an_equal_here(store: Store, status: str, here: str) -> None:
    await run.run(SavedShop({"products": {"products": [PRODUCT | {"status": status}]}}), store.public_id)
    assert await of(store, "products", "id, status") == [(12, here)]


async def test_a_box_for_several_units_is_brought_with_their_number(store: Store) -> None:
    box = {"min_items_in_box": "3", "max_items_in_box": "12", "box_length": "40", "box_width": "30", "box_height": "30"}
    product = PRODUCT | {"shipping_params": [], **box, "gtin": "96385074"}
    await run.run(SavedShop({"products": {"products": [product]}}), store.public_id)
    columns = "length_mm, width_mm, height_mm, box_min_quantity, box_max_quantity, gtin"
    assert await of(store, "products", columns) == [(400, 300, 300, 3, 12, "96385074")]


async def test_storefronts_are_read_where_there_are_no_vendors(store: Store) -> None:
    answers = {"stores": {"stores": [{"company_id": "1", "company": "Simtech"}]}, "stores/1": {"phone": "555"}}
    report = await run.run(SavedShop(answers), store.public_id)
    assert report.failures == []
    assert await of(store, "vendors", "id, name, phone") == [(1, "Simtech", "555")]


class SmallPages:
    """A shop that gives two rows a page, whatever it is asked for, with a total or without."""

    def __init__(self, total: object) -> None:
        self.rows = [{"page_id": str(number), "page": f"P{number}", "description": ""} for number in range(1, 6)]
        self.params = {} if total is None else {"total_items": total}

    async def fetch(self, path: str, **query: Any) -> Any:
        if path != "pages":
            raise NotOffered("status 404: Not found")
        first = 2 * (int(query["page"]) - 1)
        return {"pages": self.rows[first : first + 2], "params": self.params}


@pytest.mark.parametrize("total", [None, 5, "5", 6, ""])
async def test_a_list_is_read_to_its_end_whatever_its_pages(new_store: Any, total: object) -> None:
    store = await new_store()
    report = await run.run(SmallPages(total), store.public_id)
    assert report.counts["pages"].read == 5
    assert report.failures == []
    short = [text for (entity, text), _ in report.notes.items() if entity == "pages"]
    assert short == (["it has 6 records by its own count, of which 5 were read"] if total == 6 else [])


class WithoutPages:
    """A shop that answers all of a list to every page, in another order each time and without a total."""

    asked = 0

    async def fetch(self, path: str, **query: Any) -> Any:
        if path != "pages":
            raise NotOffered("status 404: Not found")
        self.asked += 1
        rows = [{"page_id": str(number), "page": f"P{number}", "description": ""} for number in range(1, 6)]
        return {"pages": rows[self.asked % 5 :] + rows[: self.asked % 5]}


async def test_a_list_without_pages_is_read_once_whatever_its_order(store: Store) -> None:
    source = WithoutPages()
    report = await run.run(source, store.public_id)
    assert (report.counts["pages"].read, source.asked) == (5, 2)


async def test_a_source_without_any_list_is_no_shop(store: Store) -> None:
    report = await run.run(SavedShop({}), store.public_id)
    assert report.stopped == "the source has none of the lists of a shop: products: status 404: Not found"
