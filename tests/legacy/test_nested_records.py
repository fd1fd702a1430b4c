"""Check single records below others, the lists of a vendor, and the members that programs for CS-Cart read."""

import pytest

from tests.harness.sample_store import NewSampleStore, SampleStore


@pytest.mark.parametrize("path", ["stores", "vendors"])
async def test_the_products_of_a_vendor_are_listed(path: str, shared_sample: SampleStore) -> None:
    body = (await shared_sample.get(f"/api/{path}/{shared_sample.rival}/products")).body
    assert [row["product_id"] for row in body["products"]] == [str(shared_sample.plate)]
    assert (await shared_sample.get(f"/api/{path}/999999999/products")).body["message"] == "Vendor not found"


@pytest.mark.parametrize("path", ["stores", "vendors"])
async def test_an_order_may_be_placed_at_a_vendor(path: str, sample: SampleStore) -> None:
    body = {"user_id": sample.caio.number, "products": [{"product_id": sample.ebook.number, "amount": 1}]}
    created = await sample.post(f"/api/{path}/{sample.vendor}/orders", body)
    assert created.status == 201, created.raw
    order = (await sample.get(f"/api/orders/{created.body['order_id']}")).body
    assert order["company_id"] == str(sample.vendor)
    other = await sample.post(f"/api/{path}/{sample.rival}/orders", body)
    assert (other.status, other.body["message"]) == (400, f"product '{sample.ebook}' is not of the vendor")
    assert (await sample.post(f"/api/{path}/999999999/orders", body)).status == 404


async def test_a_record_is_found_below_its_owner_only(shared_sample: SampleStore) -> None:
    sample = shared_sample
    for path, whole in (
        (f"categories/{sample.kitchen}/products/{sample.mug}", f"products/{sample.mug}"),
        (f"products/{sample.mug}/discussions/{sample.review}", f"discussions/{sample.review}"),
    ):
        answer = await sample.get(f"/api/{path}")
        assert (answer.status, answer.body) == (200, (await sample.get(f"/api/{whole}")).body)
    for path, message in (
        (f"categories/{sample.kitchen}/products/{sample.plate}", "Product not found"),
        (f"categories/999999999/products/{sample.mug}", "Category not found"),
        (f"products/{sample.plate}/discussions/{sample.review}", "Discussion not found"),
        (f"products/{sample.mug}/features/{sample.volume}", "Feature not found"),
        (f"products/999999999/features/{sample.colour}", "Product not found"),
        (f"users/{sample.caio}/usergroups/{sample.team}", "Usergroup not found"),
    ):
        answer = await sample.get(f"/api/{path}")
        assert (answer.status, answer.body["message"]) == (404, message)


async def test_a_feature_of_a_product_is_read_written_and_deleted(sample: SampleStore) -> None:
    path = f"/api/products/{sample.mug}/features/{sample.colour}"
    assert (await sample.get(path)).body["variant"] == "Azul"
    assert (await sample.put(path, {"variant": "Verde"})).body == {"feature_id": str(sample.colour)}
    assert (await sample.get(path)).body["value"] == "Verde"
    assert (await sample.put(path, {"variant_id": sample.blue.number})).status == 200
    assert (await sample.get(path)).body["variant_id"] == str(sample.blue)
    assert (await sample.delete(path)).status == 204
    assert (await sample.get(path)).status == (await sample.delete(path)).status == 404
    features = (await sample.get(f"/api/products/{sample.mug}")).body["product_features"]
    assert str(sample.material) in features


async def test_the_path_of_a_row_below_a_record_may_have_its_uuid(sample: SampleStore) -> None:
    await sample.put(f"/api/users/{sample.caio}/usergroups/{sample.wholesale}", {"status": "A"})
    for path, record in (
        (f"/api/products/{sample.mug}/features", sample.colour),
        (f"/api/users/{sample.caio}/usergroups", sample.wholesale),
    ):
        by_number = await sample.get(f"{path}/{record}")
        assert by_number.status == 200, (path, record, by_number.raw)
        assert (await sample.get(f"{path}/{str(record.id).upper()}")).body == by_number.body
        assert (await sample.get(f"{path}/00000000-0000-7000-8000-000000000000")).status == 404
    path = f"/api/products/{sample.mug}/features/{sample.colour.id}"
    assert (await sample.put(path, {"variant": "Verde"})).body == {"feature_id": str(sample.colour)}
    assert (await sample.delete(path)).status == 204
    assert (await sample.get(path)).status == 404


async def test_a_number_in_a_path_below_a_record_may_have_leading_zeros(sample: SampleStore) -> None:
    membership = await sample.put(f"/api/users/{sample.caio}/usergroups/0{sample.wholesale}", {"status": "D"})
    assert (membership.status, membership.body["status"]) == (200, "D")
    for path, record in (("features", sample.colour), ("discussions", sample.review)):
        by_number = await sample.get(f"/api/products/{sample.mug}/{path}/{record}")
        assert (await sample.get(f"/api/products/{sample.mug}/{path}/00{record}")).body == by_number.body
    path = f"/api/users/{sample.caio}/usergroups/0{sample.wholesale}"
    assert (await sample.get(path)).body["status"] == "D"
    assert (await sample.delete(path)).status == 204


async def test_a_feature_of_the_path_that_does_not_exist_is_not_found(sample: SampleStore) -> None:
    for feature in ("999999999", "abc"):
        for body in ({"value": "x"}, {}):
            answer = await sample.put(f"/api/products/{sample.mug}/features/{feature}", body)
            assert (answer.status, answer.body["message"]) == (404, "Feature not found"), (feature, body)
    answer = await sample.put(f"/api/products/999999999/features/{sample.material}", {"value": "x"})
    assert (answer.status, answer.body["message"]) == (404, "Product not found")


async def test_the_features_of_a_product_are_filtered_by_their_fields(sample: SampleStore) -> None:
    path = f"/api/products/{sample.mug}/features"
    rows = (await sample.get(path)).body["features"]
    for row in rows:
        for name in ("feature_id", "feature_type", "description", "value", "variant_id", "variant"):
            if not row[name]:
                continue
            answer = (await sample.get(path, params={name: row[name]})).body
            assert answer["features"] == [other for other in rows if other[name] == row[name]], name
            assert answer["params"][name] == row[name]
            assert answer["params"]["total_items"] == len(answer["features"]), (row, name)
    assert (await sample.get(f"{path}?feature_type=select")).body["params"]["feature_type"] == "S"
    assert (await sample.get(f"{path}?feature_id=999999999")).body["features"] == []


async def test_a_membership_is_read_and_given_up(sample: SampleStore) -> None:
    path = f"/api/users/{sample.caio}/usergroups/{sample.wholesale}"
    assert (await sample.get(path)).body == {"usergroup_id": str(sample.wholesale), "status": "A"}
    assert (await sample.delete(path)).status == 204
    assert (await sample.get(path)).body["status"] == "F"


async def test_products_are_filtered_by_orders_and_sorted_by_list_price(shared_sample: SampleStore) -> None:
    sample = shared_sample
    for query, expected in (
        (f"order_ids={sample.shared_order}", {sample.mug.number, sample.plate.number}),
        (f"order_ids={sample.order},{sample.guest_order}", {sample.mug.number, sample.ebook.number}),
        (f"order_ids[]={sample.guest_order}", {sample.ebook.number}),
        ("order_ids=999999999", set()),
    ):
        rows = (await sample.get(f"/api/products?{query}")).body["products"]
        assert {int(row["product_id"]) for row in rows} == expected
    rows = (await sample.get("/api/products?sort_by=list_price&sort_order=desc")).body["products"]
    assert rows[0]["product_id"] == str(sample.mug)
    features = (await sample.get(f"/api/features?product_id={sample.mug}")).body["features"]
    assert {row["feature_id"] for row in features} == {str(sample.colour), str(sample.material)}


async def test_orders_are_filtered_by_invoice(sample: SampleStore) -> None:
    await sample.put(f"/api/extra_order_fields/{sample.order}", {"nota_fiscal": "NF-77"})
    rows = (await sample.get("/api/orders?invoice_id=NF-77")).body["orders"]
    assert [row["order_id"] for row in rows] == [str(sample.order)]


@pytest.mark.parametrize("query", ["time_from=yesterday", "time_to=2026-01-31", "period=fortnight"])
async def test_an_unreadable_date_is_refused(query: str, shared_sample: SampleStore) -> None:
    for path in ("orders", "shipments"):
        answer = await shared_sample.get(f"/api/{path}?{query}")
        assert answer.status == 400, path
        assert answer.body["message"].startswith(query.partition("=")[0]), path


async def test_records_have_the_members_that_programs_read(sample: SampleStore) -> None:
    meta = {"page_title": "Caneca", "meta_keywords": "ágata", "meta_description": "Uma caneca"}
    assert (await sample.put(f"/api/products/{sample.mug}", meta)).status == 200
    listed = (await sample.get("/api/products?pcode=CAN-1")).body["products"][0]
    single = (await sample.get(f"/api/products/{sample.mug}")).body
    for record in (listed, single):
        assert meta.items() <= record.items()
        assert (record["base_price"], record["parent_product_id"]) == (record["price"], "0")
        assert record["product_features"][str(sample.colour)]["variant"] == "Azul"
        assert len(record["image_pairs"]) == 1
    order = (await sample.get(f"/api/orders/{sample.order}")).body
    assert order["taxes"] == {}
    assert order["payment_info"] == {}
    assert (order["payment_surcharge"], order["subtotal_discount"], order["is_parent_order"]) == ("0.00", "0.00", "N")
    assert order["lang_code"] == "pt"
    [group] = order["product_groups"]
    [line] = group["products"].values()
    assert line["main_pair"] == single["main_pair"]
    for path in (f"features/{sample.colour}", f"blocks/{sample.block}"):
        assert (await sample.get(f"/api/{path}")).body["company_id"] == "0"
    assert (await sample.get(f"/api/discussions/{sample.review}")).body["company_id"] == str(sample.vendor)


async def test_the_box_of_a_product_is_in_centimetres_and_may_be_sent_in_shipping_params(sample: SampleStore) -> None:
    path = f"/api/products/{sample.mug}"
    body = {"box_length": "30", "shipping_params": {"box_length": 20.25, "box_width": "15"}, "shipping_freight": "2.50"}
    assert (await sample.put(path, body)).status == 200
    record = (await sample.get(path)).body
    names = ("box_length", "box_width", "box_height", "shipping_freight", "gtin")
    assert [record[name] for name in names] == ["20.3", "15.0", "0.0", "2.50", ""]
    [listed] = (await sample.get("/api/products?box_length=20.3")).body["products"].values()
    assert listed["product_id"] == str(sample.mug)
    for refused in ({"box_length": "-1"}, {"box_width": "15 cm"}, {"shipping_params": "a:0:{}"}):
        assert (await sample.put(path, refused)).status == 400, refused


async def test_a_completed_order_is_restocked_on_request(sample: SampleStore) -> None:
    async def stock() -> int:
        return int((await sample.get(f"/api/products/{sample.mug}")).body["amount"])

    path = f"/api/orders/{sample.order}"
    for restock, returned in (("N", 0), ("Y", 2)):
        assert (await sample.put(path, {"status": "C"})).status == 200, (restock, returned)
        before = await stock()
        assert (await sample.put(path, {"status": "I", "restock": restock})).status == 200
        assert await stock() - before == returned
        assert (await sample.put(path, {"status": "O"})).status == 200, (restock, returned)


async def test_a_shipment_is_the_customers_by_default(sample: SampleStore) -> None:
    body = {"order_id": sample.order.number, "products": {str(sample.order_line): 1}}
    created = await sample.post("/api/shipments", body)
    assert created.status == 201, created.raw
    assert (await sample.get(f"/api/shipments/{created.body['shipment_id']}")).body["user_id"] == str(sample.caio)


async def test_the_shipping_method_of_an_order_is_read_in_any_form(sample: SampleStore) -> None:
    number = sample.sedex.number
    for name in ("shipping_id", "shipping_ids"):
        for value in (number, str(number), [number], {"0": str(number)}):
            body = {
                "user_id": sample.caio.number,
                "products": [{"product_id": sample.mug.number, "amount": 1}],
                name: value,
            }
            created = await sample.post("/api/orders", body)
            assert created.status == 201, (name, value, created.raw)
            order = (await sample.get(f"/api/orders/{created.body['order_id']}")).body
            assert order["shipping_ids"] == str(number), (name, value)


async def test_a_vendor_with_a_key_deletes_its_own_orders(new_sample: NewSampleStore) -> None:
    sample = await new_sample(legacy_vendor_keys="Y")
    own, shared = f"/api/orders/{sample.order}", f"/api/orders/{sample.shared_order}"
    rival = sample.rival_vendor_user
    for method, body in (("GET", None), ("PUT", {"status": "P"}), ("DELETE", None)):
        assert (await sample.request(method, own, body, by=rival)).status == 404
    assert (await sample.delete(shared, by=sample.vendor_user)).status == 403
    assert (await sample.delete(own, by=sample.vendor_user)).status == 204
    assert (await sample.get(own, by=sample.vendor_user)).status == 404


@pytest.mark.parametrize("path", ["stores", "vendors"])
async def test_a_vendor_creates_products_below_itself_only(path: str, new_sample: NewSampleStore) -> None:
    sample = await new_sample(legacy_vendor_keys="Y", legacy_lists="cscart")
    body = {"product": "Caneca", "price": "5"}
    for other in (sample.rival, "999999999", "x"):
        refused = await sample.post(f"/api/{path}/{other}/products", body, by=sample.vendor_user)
        assert (refused.status, refused.body["message"]) == (404, "Vendor not found"), other
    created = await sample.post(f"/api/{path}/{sample.vendor}/products", body, by=sample.vendor_user)
    assert created.status == 201, created.raw
    record = (await sample.get(f"/api/products/{created.body['product_id']}")).body
    assert record["company_id"] == str(sample.vendor)


NESTED = [
    (method, path)
    for path, methods in {
        "stores/{vendor}/products": ["GET"],
        "vendors/{vendor}/products": ["GET"],
        "stores/{vendor}/orders": ["POST"],
        "categories/{home}/products/{mug}": ["GET"],
        "products/{mug}/discussions/{review}": ["GET"],
        "products/{mug}/features/{colour}": ["GET", "PUT", "DELETE"],
        "users/{caio}/usergroups/{wholesale}": ["GET", "PUT", "DELETE"],
    }.items()
    for method in methods
]


@pytest.mark.parametrize("method, path", NESTED)
async def test_nested_routes_need_a_credential_and_a_privilege(
    method: str, path: str, shared_sample: SampleStore
) -> None:
    sample = shared_sample
    address = f"/api/{path.format(**sample.records)}"
    assert (await sample.request(method, address, {}, auth=None)).status == 401
    assert (await sample.request(method, address, {}, auth="bearer", by=sample.caio)).status == 403
    without = await sample.add_user("view_apps")
    answer = await sample.request(method, address, {}, by=without)
    assert (answer.status, answer.body["message"][:21]) == (403, "Forbidden: privilege ")


@pytest.mark.parametrize("method, path", NESTED)
async def test_nested_routes_never_reach_another_store(
    method: str, path: str, shared_sample: SampleStore, distant_shared_sample: SampleStore
) -> None:
    address = f"/api/{path.format(**distant_shared_sample.records)}"
    answer = await shared_sample.request(method, address, {"status": "A"})
    # The body of an order is checked before its vendor is looked up.
    assert answer.status == (400 if method == "POST" else 404), answer.raw
