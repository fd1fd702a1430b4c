"""Check every description against the schema: what it names is there, and what the operations give is described."""

from typing import Any

import pytest
from graphql import (
    FieldNode,
    FragmentSpreadNode,
    GraphQLEnumType,
    GraphQLInputObjectType,
    get_named_type,
)

from resolvers.execute import FacadeOperation, load
from resolvers.root import internal_schema
from rest_facade.legacy import boxes, product_combinations, quotes, routes
from rest_facade.legacy.addresses import OPERATIONS
from rest_facade.legacy.resource import Action, Nested, QueryFilter, Resource
from rest_facade.legacy.resources import RESOURCES
from rest_facade.legacy.vendor_app import routes as vendor_app


def doing(word: str) -> Any:
    """Run a test for every entity that can be listed, created, …."""
    found = [resource for resource in RESOURCES if word in resource.does]
    return pytest.mark.parametrize("resource", found, ids=[resource.path for resource in found])


LISTED = [
    *(resource for resource in RESOURCES if "list" in resource.does),
    *(below.of for resource in RESOURCES for below in resource.below if isinstance(below, Nested)),
]
# What `complete` makes of what the operation gives, and what it takes for that.
ORDER_ADDRESSES = {
    f"{letter}_{name}"
    for letter in "bs"
    for name in (
        ["firstname", "lastname", "address", "address_2", "city", "state", "country", "zipcode", "phone"]
    )
}
MADE = {"orders": ORDER_ADDRESSES | {"product_groups"}}
TAKEN = {"orders": {"billing_address", "shipping_address"}}


@pytest.fixture(scope="module")
def operations() -> dict[str, FacadeOperation]:
    return load(OPERATIONS)


def keys_below(operation: FacadeOperation, *path: str) -> set[str]:
    """Give the response keys of the object at the path."""
    document: Any = operation.prepared.document
    fragments = {node.name.value: node for node in document.definitions if node.kind == "fragment_definition"}

    def selected(selection_set):
        for node in selection_set.selections:
            if isinstance(node, FieldNode):
                yield (node.alias or node.name).value, node
            elif isinstance(node, FragmentSpreadNode):
                yield from selected(fragments[node.name.value].selection_set)

    root: Any = operation.prepared.operation(operation.name)
    at = root.selection_set
    for step in path:
        at = dict(selected(at))[step].selection_set
    return {key for key, _ in selected(at)}


def variables_of(operation: FacadeOperation) -> dict[str, Any]:
    """Give the type of each variable of an operation."""
    root: Any = operation.prepared.operation(operation.name)
    nodes = root.variable_definitions
    types = internal_schema().type_map

    def named(node):
        while not hasattr(node, "name"):
            node = node.type
        return node.name.value

    return {node.variable.name.value: types[named(node.type)] for node in nodes}


@doing("list")
def test_a_list_row_holds_exactly_the_fields_described(resource: Resource, operations):
    given = keys_below(operations[f"{resource.operations}List"], "page", "items")
    assert given == {field.name for field in resource.fields}


@doing("show")
def test_a_single_record_holds_exactly_the_fields_described(resource: Resource, operations):
    given = keys_below(operations[f"{resource.operations}Show"], "record")
    described = {field.name for field in (*resource.fields, *resource.single)}
    made, taken = MADE.get(resource.path, set()), TAKEN.get(resource.path, set())
    assert (given - taken) | made == described


@doing("update")
def test_what_is_written_is_a_field_of_the_input(resource: Resource, operations):
    input_type = variables_of(operations[f"{resource.operations}Update"])["input"]
    for field in (*resource.fields, *resource.single, *resource.inputs):
        at = input_type
        for step in (field.writes or "").split("."):
            if step:
                assert isinstance(at, GraphQLInputObjectType)
                assert step in at.fields, (field.name, field.writes)
                at = get_named_type(at.fields[step].type)


@pytest.mark.parametrize("resource", LISTED, ids=[resource.path for resource in LISTED])
def test_what_is_sought_and_sorted_by_is_offered(resource: Resource, operations):
    lists = [operations[f"{resource.operations}List"]] if resource.operations else []
    for owner in RESOURCES:
        lists += [operations[b.operation] for b in owner.below if isinstance(b, Nested) and b.of is resource]
    for operation in lists:
        variables = variables_of(operation)
        if "filter" not in variables:
            assert not resource.sorts
            continue
        filters, sorts = variables["filter"], variables["sort"]
        assert isinstance(filters, GraphQLInputObjectType)
        assert isinstance(sorts, GraphQLEnumType)
        named = {field.filters for field in (*resource.fields, *resource.single) if field.filters}
        named |= {each.filters for each in resource.filters if isinstance(each, QueryFilter)}
        assert named <= set(filters.fields)
        assert {f"{sort}_{way}" for sort in resource.sorts.values() for way in ("ASC", "DESC")} <= set(
            sorts.values
        )
        assert resource.default_sort[0] in resource.sorts


@doing("list")
def test_filters_of_many_values_take_lists(resource: Resource, operations):
    filters = variables_of(operations[f"{resource.operations}List"])["filter"]
    pairs = [(each.filters, each.kind.many) for each in (*resource.fields, *resource.single) if each.filters]
    pairs += [(each.filters, each.many) for each in resource.filters if isinstance(each, QueryFilter)]
    for name, many in pairs:
        assert ("[" in str(filters.fields[name].type)) == many, name


def test_arguments_and_fields_of_actions_are_variables(operations):
    for resource in RESOURCES:
        for action in resource.below:
            if isinstance(action, Action):
                named = {*action.arguments, *(str(field.writes).partition(".")[0] for field in action.takes)}
                assert named == set(variables_of(operations[action.operation]))


def test_every_operation_is_used(operations):
    asked: set[str] = set()

    class Asked(dict):
        def __getitem__(self, name):
            asked.add(name)
            return super().__getitem__(name)

    vendor_app.routes(Asked(operations))
    product_combinations.routes(Asked(operations))
    boxes.routes(Asked(operations))
    quotes.routes(Asked(operations))
    named = {"AuthTokenCreate", "NotificationInbox"} | asked
    for resource in RESOURCES:
        named |= {f"{resource.operations}{word.capitalize()}" for word in resource.does}
        named |= {below.operation for below in resource.below}
    assert named == set(operations)


def test_the_routes_are_those_of_the_contract():
    declared = {(route.method, route.path.removeprefix("/api/")) for route in routes()}
    five = {
        (method, f"{entity}{tail}")
        for entity in (
            "products",
            "orders",
            "users",
            "categories",
            "pages",
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
    assert declared == five | {
        ("GET", "destinations"),
        ("GET", "destinations/{id}"),
        ("GET", "languages"),
        ("GET", "languages/{id}"),
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
        ("POST", "auth_tokens"),
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
        ("GET", "exceptions"),
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
