"""Resolve carts, the checkout, and placed orders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from strawberry import Info

from auth.access import Access
from domain import order_access
from domain.carts import change, checkout, cleanup, file_uploads, files, lines
from domain.carts.locked import FIRST_PARAMETER, ITEM, find_cart
from domain.carts.merge import merge_cart
from domain.carts.read import LATEST_OPEN, STAFF
from domain.carts.record import load_cart_record, shipping_option_record
from domain.carts.reorder import reorder
from domain.carts.totals import shipping_options_for
from models.reading import row_reads
from models.reading.queries import Row, refers_to
from resolvers.engine.compiled_results import RESULT, ResultField
from resolvers.engine.complete import JoinedRelation, load_member
from resolvers.entity_queries import build_entity_queries
from resolvers.mutation_helpers import DeletedRecordObject, delete_field, deleted_record, rename_line_fields
from resolvers.results import cart_result, linked, load_linked_cart
from schema.declaration import declare
from schema.fields import root_field
from schema.inputs import provided_fields
from schema.scalars import ID, BigInt, Upload, parse_id
from schema.selection import requested_shape
from schema.types.carts import (
    CHECK_OUT,
    EDIT_CARTS,
    VIEW_CARTS,
    CartAddressInput,
    CartCheckoutInput,
    CartCheckoutObject,
    CartInput,
    CartItemInput,
    CartItemUpdateInput,
    CartObject,
    CustomerCartObject,
    PlacedOrderObject,
    ShippingOptionObject,
)
from schema.types.media import MediaUploadInput, OptionFileObject, OptionFileUploadObject

_SEE_PLACED = Access(
    privileges=("view_orders",),
    app_scope="read_orders",
    customer=True,
    storefront=order_access.CHECKOUT,
    note="The order's access token grants access to it; a customer token grants access to that customer's orders.",
)


def _rename_items(fields: dict[str, Any]) -> dict[str, Any]:
    if fields.get("items") is not None:
        fields["items"] = [rename_line_fields(item) for item in fields["items"]]
    return fields


def _lines(items: Sequence[CartItemInput | CartItemUpdateInput]) -> list[dict[str, Any]]:
    return [rename_line_fields(provided_fields(item)) for item in items]


@declare
class CartQueries:
    """Queries of carts and placed orders."""

    @root_field(
        VIEW_CARTS,
        metadata={
            RESULT: ResultField(
                VIEW_CARTS,
                load_linked_cart,
                executed=frozenset({"payment_methods", "shipping_options"}),
                joined=JoinedRelation("items", "product", ITEM, FIRST_PARAMETER),
            )
        },
    )
    async def cart(self, info: Info, id: ID) -> CartObject | None:
        """Return a cart by ID with current totals; null if it doesn't exist."""
        return await cart_result(info, await load_cart_record(info.context.scope, id))  # type: ignore[no-any-return]

    @root_field(STAFF, internal=True)
    async def customer_cart_of(self, info: Info, id: ID) -> CustomerCartObject | None:
        """Return a customer's open cart by the customer's ID."""
        customer = parse_id(id)
        if customer is None:
            return None
        records = await row_reads.fetch_many(
            info.context.scope,
            requested_shape(info),
            conditions=[refers_to("t.user_id", "users")(customer), LATEST_OPEN],
            limit=1,
        )
        return records[0] if records else None  # type: ignore[return-value]

    @root_field(VIEW_CARTS)
    async def cart_shipping_options(self, info: Info, id: ID) -> list[ShippingOptionObject]:
        """Return the shipping options available for a cart's items and address, with current prices."""
        scope = info.context.scope
        cart = await find_cart(scope, id)
        options = await shipping_options_for(scope, cart)
        return linked(info, map(shipping_option_record, options))  # type: ignore[no-any-return]

    @root_field(_SEE_PLACED)
    async def placed_order(self, info: Info, id: ID, token: str | None = None) -> PlacedOrderObject | None:
        """Return an order for the customer who placed it through a storefront; null if it doesn't exist."""
        scope = info.context.scope
        condition = order_access.order_filter(scope, id, token)
        if condition is None:
            return None
        return await row_reads.fetch_first(scope, requested_shape(info), condition)  # type: ignore[return-value]


_EXPIRE_ALL = Access(privileges=("manage_orders",), app_scope="write_orders")


@declare
class CartMutations:
    """Mutations of carts."""

    customer_carts_expire = delete_field(
        _EXPIRE_ALL, "Expire the open carts of a customer, whose ID this is.", cleanup.expire_customer_carts
    )

    @root_field(EDIT_CARTS)
    async def cart_create(self, info: Info, input: CartInput | None = None) -> CartObject:
        """Create a cart."""
        fields = _rename_items(provided_fields(input)) if input is not None else {}
        return await cart_result(info, await change.create_cart(info.context.scope, fields))  # type: ignore[no-any-return]

    @root_field(EDIT_CARTS)
    async def cart_file_upload(self, info: Info, id: ID, option_id: ID, file: Upload) -> OptionFileObject | None:
        """Store a file of a multipart request for an option of the type `F` in a cart; its ID is then a value of that option."""
        return Row(await files.upload_file(info.context.scope, id, option_id, file))  # type: ignore[arg-type,return-value]

    @root_field(EDIT_CARTS, secret=True)
    async def cart_file_upload_create(
        self, info: Info, id: ID, option_id: ID, input: MediaUploadInput
    ) -> OptionFileUploadObject | None:
        """Begin the upload of a file for an option of the type `F`; send it to the address, then `cart_file_upload_complete`."""
        upload = await file_uploads.register_upload(info.context.scope, id, option_id, provided_fields(input))
        return Row({**asdict(upload), "file_id": str(upload.file_id)})  # type: ignore[return-value]

    @root_field(EDIT_CARTS)
    async def cart_file_upload_complete(self, info: Info, id: ID, file_id: ID) -> OptionFileObject | None:
        """Check what was uploaded, and return the file; its ID is then a value of the option in that cart."""
        return Row(await file_uploads.complete_upload(info.context.scope, id, file_id))  # type: ignore[return-value]

    @root_field(EDIT_CARTS)
    async def cart_file_delete(self, info: Info, id: ID, file_id: ID) -> DeletedRecordObject:
        """Delete a file that no line of the cart names."""
        await file_uploads.delete_file(info.context.scope, id, file_id)
        return deleted_record(file_id)

    @root_field(EDIT_CARTS)
    async def cart_item_add(self, info: Info, id: ID, input: CartItemInput) -> CartObject:
        """Add a product to a cart; quantities of the same product and options are added."""
        return await cart_result(
            info, await lines.add_item(info.context.scope, id, rename_line_fields(provided_fields(input)))
        )  # type: ignore[no-any-return]

    @root_field(EDIT_CARTS)
    async def cart_item_update(self, info: Info, id: ID, item_id: ID, quantity: BigInt | None = None) -> CartObject:
        """Set the quantity of a cart line, 1 or more."""
        fields = {"quantity": quantity}
        return await cart_result(info, await lines.update_item(info.context.scope, id, item_id, fields))  # type: ignore[no-any-return]

    @root_field(EDIT_CARTS)
    async def cart_item_remove(self, info: Info, id: ID, item_id: ID) -> CartObject:
        """Remove a cart line."""
        return await cart_result(info, await lines.remove_items(info.context.scope, id, [item_id]))  # type: ignore[no-any-return]

    @root_field(EDIT_CARTS)
    async def cart_items_add(self, info: Info, id: ID, items: list[CartItemInput]) -> CartObject:
        """Add lines to a cart, all or none; quantities of the same product and options are added."""
        return await cart_result(info, await lines.add_items(info.context.scope, id, _lines(items)))  # type: ignore[no-any-return]

    @root_field(EDIT_CARTS)
    async def cart_items_update(self, info: Info, id: ID, items: list[CartItemUpdateInput]) -> CartObject:
        """Change quantities and choices of cart lines, all or none; a quantity of 0 removes its line. Lines that become equal are one
        afterwards.
        """
        return await cart_result(info, await lines.update_items(info.context.scope, id, _lines(items)))  # type: ignore[no-any-return]

    @root_field(EDIT_CARTS)
    async def cart_items_remove(self, info: Info, id: ID, item_ids: list[ID]) -> CartObject:
        """Remove cart lines, all or none."""
        return await cart_result(info, await lines.remove_items(info.context.scope, id, item_ids))  # type: ignore[no-any-return]

    @root_field(EDIT_CARTS)
    async def cart_set_address(self, info: Info, id: ID, input: CartAddressInput) -> CartObject:
        """Set the shipping address of a cart, replacing the existing one."""
        return await cart_result(info, await change.set_address(info.context.scope, id, provided_fields(input)))  # type: ignore[no-any-return]

    @root_field(EDIT_CARTS)
    async def cart_set_customer_email(self, info: Info, id: ID, email: str) -> CartObject:
        """Set the customer's e-mail address of a cart; an empty value removes it."""
        return await cart_result(info, await change.set_customer_email(info.context.scope, id, email))  # type: ignore[no-any-return]

    @root_field(EDIT_CARTS)
    async def cart_set_shipping_option(self, info: Info, id: ID, shipping_id: ID) -> CartObject:
        """Choose a shipping option returned by `cart_shipping_options`."""
        return await cart_result(info, await change.set_shipping_option(info.context.scope, id, shipping_id))  # type: ignore[no-any-return]

    @root_field(EDIT_CARTS)
    async def cart_apply_coupon(self, info: Info, id: ID, code: str) -> CartObject:
        """Apply a coupon to a cart; an empty code removes it."""
        return await cart_result(info, await change.apply_coupon(info.context.scope, id, code))  # type: ignore[no-any-return]

    @root_field(EDIT_CARTS)
    async def cart_merge(self, info: Info, guest_cart: ID, id: ID | None = None) -> CartObject:
        """Merge a guest's cart into a cart of the caller, by default the one changed last, or make it the caller's when there is none.
        Quantities are added up. Merging it again returns the same cart.
        """
        return await cart_result(info, await merge_cart(info.context.scope, guest_cart, id))  # type: ignore[no-any-return]

    @root_field(EDIT_CARTS)
    async def order_reorder(
        self, info: Info, id: ID, cart_id: ID | None = None, token: str | None = None
    ) -> CartObject:
        """Put the lines of an order into a cart, by default a new one, at today's prices; `warnings` say what could not be added. The
        order's token grants access to it, as for `placed_order`.
        """
        return await cart_result(info, await reorder(info.context.scope, id, cart_id, token))  # type: ignore[no-any-return]

    @root_field(EDIT_CARTS)
    async def cart_set_points(self, info: Info, id: ID, points: int) -> CartObject:
        """Set how many reward points of its customer a cart spends; 0 for none."""
        return await cart_result(info, await change.set_points(info.context.scope, id, points))  # type: ignore[no-any-return]

    @root_field(CHECK_OUT)
    async def cart_checkout(self, info: Info, id: ID, input: CartCheckoutInput) -> CartCheckoutObject:
        """Place the order of a cart, once: reserves stock, calculates totals, emits `order.created` and `checkout.completed`."""
        scope = info.context.scope
        ordered = await checkout.check_out(scope, id, provided_fields(input))
        return Row(token=ordered.token, order=await load_member(info, "order", ordered.id))  # type: ignore[return-value]


QUERIES = (
    CartQueries,
    build_entity_queries(CustomerCartObject, access=STAFF, narrowed=LATEST_OPEN),
)
MUTATIONS = (CartMutations,)
