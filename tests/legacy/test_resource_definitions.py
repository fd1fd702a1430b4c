"""Check the resource definitions against the schema and the GraphQL operations."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from graphql import (
    FieldNode,
    FragmentSpreadNode,
    GraphQLEnumType,
    GraphQLInputObjectType,
    get_named_type,
)

from resolvers.execute import FacadeOperation
from resolvers.root import internal_schema
from rest_facade.legacy import boxes, product_combinations, quotes, routes, variations
from rest_facade.legacy.resource import ActionRoute, NestedList, QueryFilter, RecordField, Resource
from rest_facade.legacy.resource_operations import load_legacy_operations
from rest_facade.legacy.resources import RESOURCES
from rest_facade.legacy.vendor_app import routes as vendor_app


def for_action(action: str) -> Any:
    """Parametrize a test with every entity that has the action."""
    resources = [resource for resource in RESOURCES if action in resource.actions]
    return pytest.mark.parametrize("resource", resources, ids=[resource.path for resource in resources])


REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "legacy.md"
LISTED = [
    *(resource for resource in RESOURCES if "list" in resource.actions),
    *(route.resource for resource in RESOURCES for route in resource.subroutes if isinstance(route, NestedList)),
]
# The fields that `complete` adds to an operation's result, and those it removes.
ORDER_ADDRESSES = {
    f"{prefix}_{name}"
    for prefix in "bs"
    for name in (["firstname", "lastname", "address", "address_2", "city", "state", "country", "zipcode", "phone"])
}
ADDED = {"orders": ORDER_ADDRESSES | {"product_groups", "points_info"}, "users": ORDER_ADDRESSES}
REMOVED = {
    "users": {"default_billing_address", "default_shipping_address"},
    "orders": {
        "billing_address",
        "shipping_address",
        "group_lines",
        "points_earned",
        "points_spent",
        "points_cents",
        "delivery_time",
    },
}


@pytest.fixture(scope="module")
def operations() -> dict[str, FacadeOperation]:
    return load_legacy_operations()


def response_keys(operation: FacadeOperation, *path: str) -> set[str]:
    """Return the response keys of the object at the path."""
    document: Any = operation.prepared.document
    fragments = {node.name.value: node for node in document.definitions if node.kind == "fragment_definition"}

    def selected_fields(selection_set):
        for node in selection_set.selections:
            if isinstance(node, FieldNode):
                yield (node.alias or node.name).value, node
            elif isinstance(node, FragmentSpreadNode):
                yield from selected_fields(fragments[node.name.value].selection_set)

    root: Any = operation.prepared.operation(operation.name)
    selection_set = root.selection_set
    for key in path:
        selection_set = dict(selected_fields(selection_set))[key].selection_set
    return {key for key, _ in selected_fields(selection_set)}


def variables_of(operation: FacadeOperation) -> dict[str, Any]:
    """Return the type of each variable of an operation."""
    root: Any = operation.prepared.operation(operation.name)
    nodes = root.variable_definitions
    types = internal_schema().type_map

    def type_name(node):
        while not hasattr(node, "name"):
            node = node.type
        return node.name.value

    return {node.variable.name.value: types[type_name(node.type)] for node in nodes}


def read_fields(fields: Iterable[RecordField]) -> set[str]:
    """Return the names of the fields whose value differs by record."""
    return {field.name for field in fields if field.constant is None}


@for_action("list")
def test_a_list_row_has_exactly_the_defined_fields(resource: Resource, operations):
    keys = response_keys(operations[f"{resource.operations}List"], "page", "items")
    assert keys == read_fields(resource.fields)


@for_action("show")
def test_a_single_record_has_exactly_the_defined_fields(resource: Resource, operations):
    keys = response_keys(operations[f"{resource.operations}Show"], "record")
    added, removed = ADDED.get(resource.path, set()), REMOVED.get(resource.path, set())
    assert (keys - removed) | added == read_fields((*resource.fields, *resource.detail_fields))


@for_action("update")
def test_writable_fields_exist_in_the_input_type(resource: Resource, operations):
    input_type = variables_of(operations[f"{resource.operations}Update"])["input"]
    for field in (*resource.fields, *resource.detail_fields, *resource.input_fields):
        current = input_type
        for step in (field.input_path or "").split("."):
            if step:
                assert isinstance(current, GraphQLInputObjectType), (field, step)
                assert step in current.fields, (field.name, field.input_path)
                current = get_named_type(current.fields[step].type)


@pytest.mark.parametrize("resource", LISTED, ids=[resource.path for resource in LISTED])
def test_filters_and_sorts_exist_in_the_schema(resource: Resource, operations):
    lists = [operations[f"{resource.operations}List"]] if "list" in resource.actions else []
    for owner in RESOURCES:
        lists += [
            operations[b.operation] for b in owner.subroutes if isinstance(b, NestedList) and b.resource is resource
        ]
    for operation in lists:
        variables = variables_of(operation)
        if "filter" not in variables:
            assert not resource.sorts, operation
            continue
        filters, sorts = variables["filter"], variables["sort"]
        assert isinstance(filters, GraphQLInputObjectType), operation
        assert isinstance(sorts, GraphQLEnumType), operation
        names = {field.filter_name for field in (*resource.fields, *resource.detail_fields) if field.filter_name}
        names |= {query.filter_name for query in resource.filters if isinstance(query, QueryFilter)}
        assert names - set(filters.fields) == set(), (
            f"the entity of {operation.name} has no such filters: declare them there"
        )
        assert {f"{sort}_{direction}" for sort in resource.sorts.values() for direction in ("ASC", "DESC")} <= set(
            sorts.values
        ), operation
        assert resource.default_sort[0] in resource.sorts, operation


@for_action("list")
def test_multiple_value_filters_are_lists(resource: Resource, operations):
    filters = variables_of(operations[f"{resource.operations}List"])["filter"]
    fields = (*resource.fields, *resource.detail_fields)
    pairs = [(field.filter_name, field.value_type.multiple) for field in fields if field.filter_name]
    pairs += [(query.filter_name, query.multiple) for query in resource.filters if isinstance(query, QueryFilter)]
    for name, multiple in pairs:
        assert ("[" in str(filters.fields[name].type)) == multiple, name


def test_arguments_and_body_fields_of_actions_are_variables(operations):
    for resource in RESOURCES:
        for action in resource.subroutes:
            if isinstance(action, ActionRoute):
                names = {
                    *action.path_arguments,
                    *(str(field.input_path).partition(".")[0] for field in action.body_fields),
                }
                assert names == set(variables_of(operations[action.operation]))


def test_every_operation_is_used(operations):
    used: set[str] = set()

    class RecordingDict(dict):
        def __getitem__(self, name):
            used.add(name)
            return super().__getitem__(name)

    vendor_app.routes(RecordingDict(operations))
    product_combinations.routes(RecordingDict(operations))
    boxes.routes(RecordingDict(operations))
    quotes.routes(RecordingDict(operations))
    variations.routes(RecordingDict(operations))
    used |= {"AuthTokenCreate", "DefaultLanguage", "NotificationInbox", "SignInKeyCreate"}
    for resource in RESOURCES:
        actions = (*resource.actions, *resource.cscart_actions)
        used |= {f"{resource.operations}{action.capitalize()}" for action in actions}
        used |= {f"{resource.operations}Numbers" for action in resource.actions if action == "list"}
        used |= {route.operation for route in resource.subroutes}
        used |= {f"{route.operation}Numbers" for route in resource.subroutes if getattr(route, "parent_filter", None)}
    assert used == set(operations)


def test_the_reference_names_every_field():
    """The fields of a shipping address, `s_…`, are there by those of the billing address."""
    words = set(
        re.findall(r"\w+", " ".join(re.findall(r"`((?:[^`\n]|\n(?!\n))+)`", REFERENCE.read_text(encoding="utf-8"))))
    )
    names = {
        (resource.path, field.name)
        for resource in RESOURCES
        for field in (*resource.fields, *resource.detail_fields, *resource.input_fields)
        if field.name not in resource.cscart_defaults  # what CS-Cart's clients don't send
    }
    unnamed = {(path, name) for path, name in names if re.sub("^s_", "b_", name) not in words}
    assert unnamed == set(), "write these fields into docs/reference/legacy.md"


def test_the_routes_are_those_of_the_reference():
    declared = {(route.method, route.path.removeprefix("/api/")) for route in routes()}
    complete = {
        (method, f"{entity}{tail}")
        for entity in (
            "products",
            "orders",
            "users",
            "categories",
            "pages",
            "langvars",
            "languages",
            "blocks",
            "shipments",
            "statuses",
            "payments",
            "shippings",
            "taxes",
            "promotions",
            "stores",
            "vendors",
            "usergroups",
            "features",
            "options",
            "combinations",
            "warehouses",
            "managers",
        )
        for method, tail in (
            ("GET", ""),
            ("POST", ""),
            ("GET", "/{id}"),
            ("PUT", "/{id}"),
            ("DELETE", "/{id}"),
        )
    }
    assert declared == complete | {
        ("GET", "features/{id}/variants"),
        ("GET", "stores/{id}/products"),
        ("GET", "vendors/{id}/products"),
        ("POST", "stores/{vendor_id}/orders"),
        ("POST", "vendors/{vendor_id}/orders"),
        ("GET", "categories/{id}/products/{product_id}"),
        ("GET", "products/{id}/discussions/{post_id}"),
        *((method, "products/{id}/features/{feature_id}") for method in ("GET", "PUT", "DELETE")),
        *((method, "users/{id}/usergroups/{group_id}") for method in ("GET", "DELETE")),
        ("GET", "destinations"),
        ("GET", "destinations/{id}"),
        ("GET", "carts"),
        ("GET", "carts/{id}"),
        *((method, "languages/{id}/langvars") for method in ("GET", "POST")),
        *((method, "languages/{id}/langvars/{name}") for method in ("GET", "PUT", "DELETE")),
        ("GET", "settings"),
        ("GET", "settings/{id}"),
        ("PUT", "settings/{id}"),
        *(
            (method, f"{entity}{tail}")
            for entity in ("subscribers", "call_requests")
            for method, tail in (("GET", ""), ("GET", "/{id}"), ("POST", ""), ("DELETE", "/{id}"))
        ),
        ("GET", "discussions"),
        ("POST", "discussions"),
        ("GET", "discussions/{id}"),
        ("DELETE", "discussions/{id}"),
        ("GET", "business_partners"),
        ("POST", "business_partners"),
        ("GET", "business_partners/{id}"),
        ("PUT", "business_partners/{id}"),
        ("GET", "payment_codes"),
        ("POST", "payment_codes"),
        ("GET", "mix_products"),
        ("POST", "mix_products"),
        ("GET", "manager_transactions"),
        ("POST", "manager_transactions"),
        ("PUT", "order_limit"),
        ("POST", "credit_score"),
        ("POST", "auth"),
        ("POST", "auth_tokens"),
        ("GET", "version"),
        ("POST", "vendor_login"),
        ("PUT", "vendor_login"),
        ("POST", "vendor_signup"),
        ("GET", "vendor_start"),
        ("GET", "vendor_dashboard"),
        ("GET", "vendor_company"),
        ("PUT", "vendor_company"),
        ("GET", "vendor_profile"),
        ("PUT", "vendor_profile"),
        ("GET", "vendor_categories"),
        ("GET", "vendor_products"),
        ("POST", "vendor_products"),
        ("POST", "vendor_product"),
        ("GET", "vendor_product/{id}"),
        ("PUT", "vendor_product/{id}"),
        ("GET", "vendor_product_options"),
        ("GET", "vendor_product_attachments"),
        ("GET", "vendor_required_products"),
        ("GET", "vendor_orders"),
        ("GET", "vendor_order/{id}"),
        ("PUT", "vendor_order/{id}"),
        ("GET", "notifications"),
        ("GET", "delivery_methods"),
        ("GET", "sellers_availability"),
        ("GET", "warehouses/{id}/delivery_areas"),
        ("POST", "warehouses/{id}/delivery_areas"),
        ("PUT", "warehouses/{id}/delivery_areas/{area_id}"),
        ("DELETE", "warehouses/{id}/delivery_areas/{area_id}"),
        ("GET", "warehouses/{id}/user_groups"),
        ("POST", "warehouses/{id}/user_groups"),
        ("PUT", "warehouses/{id}/user_groups/{usergroup_id}"),
        ("DELETE", "warehouses/{id}/user_groups/{usergroup_id}"),
        ("PUT", "extra_order_fields/{id}"),
        ("GET", "products/{id}/discussions"),
        ("GET", "products/{id}/features"),
        ("GET", "categories/{id}/products"),
        ("GET", "users/{id}/usergroups"),
        ("PUT", "users/{id}/usergroups/{group_id}"),
        *(
            (method, path)
            for collection, single in (
                ("product_variations", "product_variations/{id}"),
                ("product_variations_groups", "product_variations_groups/{id}"),
                (
                    "product_variations_groups/{id}/product_variations",
                    "product_variations_groups/{id}/product_variations/{product_id}",
                ),
            )
            for methods, path in (("GET POST", collection), ("GET PUT DELETE", single))
            for method in methods.split()
        ),
        *(
            ("POST", f"product_variations/{{id}}/{action}_product_variation{plural}")
            for action, plural in (("detach", ""), ("set_default", ""), ("generate", "s"))
        ),
        ("GET", "exceptions"),
        ("POST", "vendors/{id}/products"),
        ("POST", "stores/{id}/products"),
        ("POST", "products/{id}/discussions"),
        ("PUT", "products/{id}/discussions/{post_id}"),
        ("DELETE", "products/{id}/discussions/{post_id}"),
        ("PUT", "exceptions/{id}"),
        ("PUT", "discussions/{id}"),
        ("PUT", "call_requests/{id}"),
        ("DELETE", "carts/{id}"),
        ("GET", "exceptions/{id}"),
        ("POST", "exceptions"),
        ("DELETE", "exceptions/{id}"),
        ("GET", "products/{product_id}/options/combinations"),
        ("POST", "products/{product_id}/options/combinations"),
        ("POST", "products/{product_id}/options/combinations/batch"),
        ("GET", "products/{product_id}/options/combinations/{id}"),
        ("PUT", "products/{product_id}/options/combinations/{id}"),
        ("DELETE", "products/{product_id}/options/combinations/{id}"),
        ("GET", "productBoxes"),
        ("GET", "productBoxes/{id}"),
        ("GET", "productBoxesDescriptions"),
        ("GET", "productBoxesDescriptions/{id}"),
    }
