"""Send every field of every input as a vendor: only the permitted columns may change (docs/reference/legacy.md#vendor-app).

Every mutation with an input that is available to vendors must be listed here with the columns it may write.
"""

import json
from dataclasses import replace
from typing import Any

import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLList,
    GraphQLNonNull,
    get_named_type,
    get_nullable_type,
)

from domain.catalog.attachments import ATTACHMENT_RECORDS
from domain.catalog.combinations import create_combination
from domain.catalog.option_exceptions import create_exception
from domain.catalog.options import create_option
from kernel.scope import Actor, ActorKind, active_scope
from models.tables.catalog import VariationGroup, VariationGroupProduct
from models.tables.taxes import Tax
from models.tables.users import UserAddress
from models.tables.warehouses import Warehouse
from resolvers.execute import execute, load_operations
from resolvers.root import internal_schema
from schema.fields import ACCESS, strawberry_field
from tests.harness import product_records
from tests.harness.sample_store import SampleStore

# Tables written by side effects.
SIDE_EFFECTS = {
    "audit_entries",
    "ledger_entries",
    "notifications",
    "outbox_events",
    "event_sequences",
    "mails",
    "redirects",  # the former address of a record whose slug changes
    "order_mails",
    "sessions",
    "legacy_tokens",
}
PRODUCT = {
    "name", "name_folded", "slug", "price_cents", "on_hand", "tracking", "weight_grams", "is_edp", "free_shipping", "min_quantity",
    "max_quantity", "quantity_step", "quantity_choices", "low_stock_limit", "available_since", "out_of_stock_action", "zero_price_action",
    "unlimited_download", "promo_text", "exception_type", "option_order", "details_layout", "ncm", "search",
    "search_words", "box_min_quantity", "box_max_quantity",
    "page_title", "meta_keywords", "meta_description", *product_records.DEFAULTS,
}  # fmt: skip
# The exceptions of its options follow its `exception_type`.
PRODUCT_COLUMNS = {"products": PRODUCT, "option_exceptions": {"type"}}
# A vendor may change the status of an order consisting of its own lines.
STATUS_CHANGE = {
    "orders": {"status", "stock_state", "hold_until", "tracking_code"},
    "products": {"reserved", "on_hand", "stock"},
}
PRODUCT_RELATIONS = {"product_categories", "product_images", "feature_values", "product_taxes", "product_tags"}
OPTIONS = {"option_variants", "product_options", "combination_choices"}
COMBINATION = {
    "length_mm",
    "width_mm",
    "height_mm",
    "gtin",
    "shipping_freight_cents",
    "sku",
    "on_hand",
    "stock",
    "price_cents",
    "position",
    "hash",
    "image_url",
    "image_alt",
    "image_width",
    "image_height",
}
# Per mutation: the columns of the vendor's own rows that may change, by table, and the tables whose rows may be inserted or deleted.
MAY_WRITE: dict[str, tuple[dict[str, set[str]], set[str]]] = {
    "user_update": (
        {
            "users": {
                "email", "password_hash", "password_changed_at", "firstname", "lastname", "phone", "name", "search", "image_url",
                "image_alt",
            }
        },
        set(),
    ),
    "vendor_update": (
        {
            "vendors": {
                "name", "email", "phone", "address", "city", "state", "country", "zipcode", "url", "shippings", "image_url", "image_alt",
                "description", "page_title", "meta_keywords", "meta_description",
            }
        },
        {"vendor_banners"},
    ),
    "product_warehouse_stock_set": ({"combinations": {"on_hand", "stock"}}, {"warehouse_stock"}),
    "product_create": ({}, {"products", *PRODUCT_RELATIONS}),
    "product_update": (PRODUCT_COLUMNS, {"variation_group_products", *PRODUCT_RELATIONS}),
    "product_bulk_upsert": (PRODUCT_COLUMNS, {"products", "variation_group_products", *PRODUCT_RELATIONS}),
    # Lines and status, and the resulting totals and stock.
    "order_update": (
        {
            "orders": {
                "status", "tracking_code", "subtotal_cents", "total_cents", "stock_state", "hold_until", "shipping_cents", "tax_cents",
            },
            # A line that stays; its price is not the vendor's to change.
            "order_lines": {"quantity", "extra"},
            "products": {"reserved", "on_hand", "stock"},
        },
        {"order_lines", "order_status_changes"},
    ),
    "shipment_create": (STATUS_CHANGE, {"shipments", "shipment_lines", "order_status_changes"}),
    "shipment_update": (
        {
            **STATUS_CHANGE,
            "shipments": {
                "shipping_method_id", "shipping_name", "carrier", "tracking_number", "comments", "status", "user_id", "group_key",
                "label_url",
                "created_at", "order_placed_at",
            },
        },
        {"shipment_lines", "order_status_changes"},
    ),
    "option_create": ({}, {"options", *OPTIONS}),
    "option_update": (
        {
            "combinations": {"deleted_at"},  # of deleted variants
            "options": {
                "name", "type", "required", "inventory", "status", "position", "description", "allowed_extensions", "max_file_size",
            },
            "option_variants": {"name", "modifier", "modifier_type", "position", "image_url", "image_alt"},
        },
        OPTIONS | {"combinations", "option_exceptions", "exception_choices"},
    ),
    "combination_create": ({}, {"combinations", *OPTIONS}),
    "combination_batch_create": ({}, {"combinations", *OPTIONS}),
    "combination_update": ({"combinations": COMBINATION}, OPTIONS),
    "combination_called_update": ({"combinations": COMBINATION}, OPTIONS),
    "option_exception_create": ({}, {"option_exceptions", "exception_choices"}),
    "option_exception_update": ({"option_exceptions": {"type", "hash"}}, {"exception_choices", *OPTIONS}),
    **dict.fromkeys(
        ("variation_group_create", "variation_group_add"),
        (
            {"variation_group_products": {"group_id"}},
            {"variation_groups", "variation_group_features", "variation_group_products"},
        ),
    ),
    **dict.fromkeys(
        ("variation_group_update", "variation_group_called_update"),
        ({"variation_groups": {"code"}}, {"variation_group_products"}),
    ),
    "attachment_create": ({}, {"attachments"}),
    "attachment_update": (
        {"attachments": {"description", "filename", "url", "filesize", "position", "status"}},
        set(),
    ),
    "address_create": ({}, {"user_addresses"}),
    "address_update": (
        {
            "user_addresses": {
                "name", "street", "number", "complement", "district", "city", "state", "zipcode", "country", "phone",
            }
        },
        set(),
    ),
    "vendor_sign_up": ({}, {"vendors", "users"}),
    "user_register": ({}, {"users", "mailed_tokens"}),
}  # fmt: skip


def vendor_mutations() -> dict[str, Any]:
    """Return the mutations available to vendors that take an input or a list of inputs."""
    mutation_type = internal_schema().mutation_type
    assert mutation_type is not None
    mutations = {}
    for name, field in mutation_type.fields.items():
        declared = strawberry_field(field)
        access = declared.metadata[ACCESS] if declared is not None else None
        takes_input = any(
            isinstance(get_named_type(argument.type), GraphQLInputObjectType) for argument in field.args.values()
        )
        if takes_input and access is not None and (access.vendor or access.anonymous):
            mutations[name] = field
    return mutations


def test_every_mutation_available_to_vendors_is_covered():
    # An upload needs a storage: tests/media/test_uploads.py.
    assert set(vendor_mutations()) == {*MAY_WRITE, "media_upload_create"}


async def snapshot(sample: SampleStore) -> dict[tuple[str, int], dict[str, Any]]:
    tables = await sample.rows(
        "select relname from pg_class join pg_attribute on attrelid = pg_class.oid where attname = 'tenant_id'"
        " and relkind = 'r' and relnamespace = 'public'::regnamespace"
        " and relname <> all('{number_counters,catalogue_versions,search_entries,search_words,unlisted_products,event_feeds}'"
        "::text[] || 'stock_changes'::text)"
    )
    rows = {}
    for (table,) in tables:
        for (row_json,) in await sample.rows(
            f"select to_jsonb(t) from {table} t where t.tenant_id = {sample.store.id}"
        ):
            record = json.loads(row_json)
            rows[table, record["id"]] = record
    return rows


def value_for(sample: SampleStore, name: str, type_: Any) -> Any:
    """Return a value an attacker would send; each value is well-formed, so that none is rejected by validation."""
    inner = get_nullable_type(type_)
    if isinstance(inner, GraphQLList):
        return [value_for(sample, name.removesuffix("s"), inner.of_type)]
    if isinstance(inner, GraphQLInputObjectType):
        value = {field: value_for(sample, field, known.type) for field, known in inner.fields.items()}
        if inner.name in ("OptionVariantInput", "OrderItemInput"):
            value["id"] = None
        if inner.name == "VariationGroupFeatureInput":
            value |= {"feature_id": str(sample.colour), "purpose": "group_catalog_item"}
        if inner.name == "ShipmentInput":
            value["user_id"] = str(sample.caio)  # the order's customer
        if inner.name == "OptionInput":
            value |= {
                "product_ids": None,
                "variant_pictures": None,
            }  # only for options shared by several products
        return value
    if isinstance(inner, GraphQLEnumType):
        return next(iter(inner.values))
    known: dict[str, Any] = {
        "vendor_id": str(sample.rival), "company_id": str(sample.rival), "customer_id": str(sample.bia), "user_id": str(sample.bia),
        "product_id": str(sample.mug), "category_id": str(sample.home), "payment_method_id": str(sample.card),
        "shipping_method_id": str(sample.sedex), "feature_id": str(sample.material),
        "variant_id": str(sample.records.get("free_variant")) if isinstance(type_, GraphQLNonNull) else None,
        "option_id": str(sample.records.get("option")), "tax_id": str(sample.records.get("tax")), "required_product_id": str(sample.ebook),
        "hash": sample.records.get("hash"), "warehouse_id": str(sample.records.get("own_warehouse")),
        "combination_id": str(sample.records.get("combination")),
        "order_id": str(sample.order), "line_id": str(sample.line), "id": str(sample.mug),
        "email": "intruder@example.com", "password": "an intruders password", "role": "admin", "user_type": "A",
        "name": "Intruder", "phone": "81999990000", "cpf": "52998224725", "cnpj": "11222333000181", "sku": "INTRUDER",
        "url": "https://intruder.example", "label_url": "https://intruder.example/label", "rate_source": "table",
        "image_url": "https://intruder.example/x.png", "commission": "0.01", "commission_type": "A", "status": "P",
        "order_status": "P", "tracking": "D", "out_of_stock_action": "B", "zero_price_action": "P",
        "exception_type": "A", "option_order": "S", "ncm": "61091000",
        "zipcode": "01310100", "state": "SP", "country": "BR", "quantity": 1, "company": "Intruder", "group_key": "x",
        "value": "x", "options": {}, "refused": False,
    }  # fmt: skip
    if inner.name == "SwitchStatus":
        return "D"
    if name in known:
        return known[name]
    accepted = {field: value for values, _ in reversed(product_records.ACCEPTED) for field, value in values.items()}
    return {
        "Int": 1, "BigInt": 1, "Boolean": True, "JSON": {"intruder": "yes"}, "DateTime": "2020-01-01T00:00:00Z", "ID": None,
        "Upload": None,
        "OptionType": "S", "ModifierType": "A", "ExceptionType": "F", "ShipmentStatus": "A", "FeatureType": "T",
    }.get(inner.name, accepted.get(name, "intruder"))  # fmt: skip


async def _create_shipment(sample: SampleStore) -> int:
    with active_scope(sample.scope):
        shipment = await sample.value(
            "insert into shipments (tenant_id, public_id, order_id) values ($1, gen_random_uuid(), $2) returning id",
            sample.store.id,
            sample.order.number,
        )
        await sample.execute(
            "insert into shipment_lines (tenant_id, public_id, shipment_id, order_line_id, quantity)"
            " values ($1, gen_random_uuid(), $2, $3, 1)",
            sample.store.id,
            shipment,
            sample.line,
        )
    return int(shipment)


async def _options(sample: SampleStore) -> dict[str, Any]:
    """Create an option with two sizes, a combination of one of them, an attachment and a tax."""
    scope = sample.scope
    with active_scope(scope):
        option = await create_option(
            scope,
            {
                "name": "Tamanho", "type": "S", "product": sample.mug.number, "inventory": True,
                "variants": [{"name": "P"}, {"name": "G"}],
            },
        )  # fmt: skip
        small, large = [
            row[0]
            for row in await sample.rows("select id from option_variants where option_id = $1 order by id", option)
        ]
        chosen = {"product": sample.mug.number, "choices": {str(option): str(small)}}
        combination = await create_combination(scope, chosen)
        file = {"product": sample.mug.number, "filename": "a.pdf", "url": "https://x.example/a.pdf"}
        attachment = await ATTACHMENT_RECORDS.create(scope, file)
        exception = await create_exception(scope, chosen)
        group = await VariationGroup.create(code="CORES2")
        await VariationGroupProduct.create(group_id=group.id, product_id=sample.mug.number)
    return {
        "variation": group.id,
        "exception": exception,
        "option": option,
        "free_variant": large,
        "combination": combination,
        "attachment": attachment,
        "hash": await sample.value("select hash from combinations where id = $1", combination),
        "tax": await sample.add(Tax, name="ICMS"),
        "own_warehouse": await sample.add(Warehouse, name="Ateliê", vendor_id=sample.vendor.number),
    }


@pytest.mark.parametrize("name", MAY_WRITE)
async def test_a_vendor_can_write_only_permitted_columns(sample, tmp_path, name):
    sample.records["line"] = await sample.value("select id from order_lines where order_id = $1", sample.order.number)
    # An order of a product with options would have to choose variants.
    sample.records |= await _options(sample) if "order" not in name and "shipment" not in name else {}
    shipment = await _create_shipment(sample) if name == "shipment_update" else 0
    subjects = {
        "user": sample.vendor_user,
        "vendor": sample.vendor,
        "product": sample.mug,
        "order": sample.order,
        "shipment": shipment,
        "option": sample.records.get("option"),
        "combination": sample.records.get("combination"),
        "attachment": sample.records.get("attachment"),
        "option_exception_update": sample.records.get("exception"),
        "variation": sample.records.get("variation"),
        "address": (await sample.add(UserAddress, user_id=sample.vendor_user.number, zipcode="01001000")).id,
    }
    field = vendor_mutations()[name]
    variables, declared, arguments = {}, [], []
    for argument, known in field.args.items():
        if argument == "expected_updated_at":
            continue  # a condition of the change
        value = (
            str(subjects.get(name, subjects[name.split("_")[0]]))
            if argument == "id"
            else value_for(sample, argument, known.type)
        )
        if value is None:
            continue
        variables[argument] = value
        declared.append(f"${argument}: {known.type}")
        arguments.append(f"{argument}: ${argument}")
    if name == "user_update":
        del variables["input"]["role"]  # the same field as user_type
    text = f"mutation Sent({', '.join(declared)}) {{ done: {name}({', '.join(arguments)}) {{ __typename }} }}"
    (tmp_path / "sent.graphql").write_text(text)
    actor = Actor(
        ActorKind.VENDOR,
        user_id=sample.vendor_user.number,
        vendor_id=sample.vendor.number,
        credential=f"user:{sample.vendor_user}",
    )
    scope = replace(sample.scope, family="legacy", actor=actor)
    before = await snapshot(sample)
    with active_scope(scope):
        await execute(scope, load_operations(tmp_path)["Sent"], variables)
    after = await snapshot(sample)

    columns, tables = MAY_WRITE[name]
    inserted_or_deleted = {table for table, _ in before.keys() ^ after.keys()}
    assert inserted_or_deleted <= tables | SIDE_EFFECTS
    own = {"users": sample.vendor_user.number, "vendors": sample.vendor.number, "orders": sample.order.number}
    written = False
    for (table, number), row in after.items():
        old = before.get((table, number))
        if old is None or old == row or table in SIDE_EFFECTS:
            continue
        written = True
        assert number == own.get(table, number)
        if "vendor_id" in row and table != "users":
            assert row["vendor_id"] == sample.vendor.number
        changed = {column for column in row if row[column] != old[column]} - {"updated_at"}
        assert table in PRODUCT_RELATIONS & tables or changed <= columns.get(table, set()), (table, changed)
    assert written or inserted_or_deleted & tables
    for table, number in after.keys() - before.keys():
        row = after[table, number]
        if table == "products":
            assert row["vendor_id"] == sample.vendor.number, (table, number)
        if table == "order_lines":
            assert (row["vendor_id"], row["price_cents"]) == (sample.vendor.number, 4_990), (table, number)
        if table == "vendors":
            assert (row["status"], row["commission"]) == ("P", "0.00"), (table, number)
        if table == "users":
            assert (row["user_type"], row["privileges"]) in (("V", []), ("C", [])), (table, number)
            assert row["vendor_id"] != sample.rival.number, (table, number)


@pytest.mark.parametrize(
    "mutation",
    [
        "variation_group_delete(id: $group) { id }",
        'variation_group_update(id: $group, input: {code: "MINE"}) { id }',
        "product_update(id: $product, input: {variation_group_id: $group}) { id }",
    ],
    ids=["delete", "rename", "join"],
)
async def test_a_vendor_does_not_find_a_variation_group_without_products(sample, mutation):
    with active_scope(sample.scope):
        group = await VariationGroup.create(code="EMPTY")
    uses_product = ", $product: ID!" if "$product" in mutation else ""
    body = {
        "query": f"mutation($group: ID!{uses_product}) {{ done: {mutation} }}",
        "variables": {"group": str(group.public_id), "product": sample.mug.id},
    }
    answer = await sample.post("/graphql", body, by=sample.vendor_user, auth="bearer")
    assert "not found" in answer.body["errors"][0]["message"], answer.body
    assert await sample.value("select code from variation_groups where id = $1", group.id) == "EMPTY"
