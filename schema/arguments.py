"""Describe the arguments of fields: a name means the same wherever it occurs, apart from those listed with their field."""

from __future__ import annotations

from collections.abc import Mapping

from graphql import GraphQLObjectType, GraphQLSchema

_BY_NAME: Mapping[str, str] = {
    "address_id": "The ID of the saved address.",
    "after": "A cursor: only records after it.",
    "amount_cents": "The amount, in cents.",
    "area_id": "The ID of the warehouse area.",
    "before": "A cursor: only records before it.",
    "carrier": "The carrier of the shipment; applies with a tracking code.",
    "cart_id": "The ID of the cart.",
    "client_id": "The client ID of the app.",
    "client_secret": "The current client secret.",
    "code": "The code of the authenticator app, or a recovery code.",
    "code_challenge": "The PKCE challenge (S256).",
    "created_before": "Only records created before this time.",
    "created_from": "Only records created at or after this time.",
    "current_password": "The caller's current password.",
    "email": "The e-mail address.",
    "endpoint_id": "The ID of the webhook endpoint.",
    "error_policy": "What an invalid row means for the others.",
    "events": "The names of the events; all by default.",
    "guest_cart": "The ID of the guest's cart.",
    "filter": "The conditions, all of which must match.",
    "first": "The number of records from the start, 0 to 1,000; 20 by default.",
    "id": "The ID of the record.",
    "identifier": "The e-mail address, CPF, CNPJ or phone number.",
    "ids": "The IDs of the records.",
    "immediate": "Whether the previous secret becomes invalid at once.",
    "input": "The fields of the record; those left out stay as they are.",
    "inputs": "The records.",
    "installments": "The number of installments.",
    "item_id": "The ID of the cart line.",
    "key": "The sign-in key.",
    "kind": "The kind of payment, as text.",
    "last": "The number of records from the end, 0 to 1,000, in place of `first`.",
    "limit": "The maximum number of records, 0 to 1,000.",
    "name": "The name.",
    "new_email": "The new e-mail address.",
    "new_password": "The new password.",
    "offset": "The number of records to skip.",
    "order_id": "The ID of the order.",
    "page": "The number of the page, from 1.",
    "password": "The password.",
    "per_page": "The number of records of a page, 0 to 1,000.",
    "points": "The number of reward points.",
    "privileges": "The names of the privileges, replacing the present ones.",
    "product_id": "The ID of the product.",
    "product_ids": "The IDs of the products, replacing the present ones.",
    "quantity": "The number of units.",
    "query": "The words to look for.",
    "reason": "The reason, kept in the order's history.",
    "redirect_uri": "The URI to which the app is redirected, one of those registered.",
    "refresh_token": "The refresh token.",
    "restock": "Whether the units of a complete order return to the stock.",
    "rows": "The products, at most 500.",
    "scopes": "The scopes to approve.",
    "secret": "The secret.",
    "settings": "The settings to change, by name.",
    "shipping_id": "The ID of the shipping method.",
    "since": "The earliest time of the events.",
    "slug": "The slug, in place of the ID.",
    "sort": "The order of the records.",
    "state": "The text that is returned to the app unchanged.",
    "status": "The status code.",
    "temp_token": "The temporary token of the sign-in.",
    "token": "The token, as mailed or returned.",
    "tracking_code": "The tracking code of the shipment.",
    "tracking_number": "The tracking code of the shipment.",
    "types": "The names of the events; by default all that the caller may read.",
    "type": "What the address is used for.",
    "until": "The latest time of the events; now by default.",
    "usergroup_id": "The ID of the usergroup.",
    "user_id": "The ID of the user; the caller by default.",
    "warehouse_id": "The ID of the warehouse.",
    "zipcode": "The CEP.",
}
_BY_FIELD: Mapping[str, str] = {
    "media_create.source_url": "The URL from which the file is fetched, http or https.",
    "media_create.alt": "The alternative text of a new file.",
    "media_upload_complete.media_id": "The media file that `media_upload_create` returned.",
    "media_update.alt": "The alternative text.",
    "bulk_query_create.query": "The document: a query whose root fields are lists or connections, without variables and pages.",
    "bulk_mutation_create.mutation": "The document: a mutation with variables.",
    "bulk_mutation_create.upload": "The ID of the upload with the variables, a JSON object on each line.",
    "bulk_mutation_create.all_or_nothing": "Whether a refused line undoes all others; for at most 10,000 lines.",
    "events.after": "A cursor, `oldest` (default of the query) or `latest` (default of the subscription).",
    "events.first": "The number of events, 0 to 1,000; 100 by default.",
    "order_reorder.cart_id": "The ID of the cart; a new one by default.",
    "cart_merge.id": "The ID of the cart that takes over; by default the caller's cart changed last.",
    "cart_apply_coupon.code": "The coupon code; empty to remove the coupon.",
    "notifications_mark_read.before": "Only notifications created before this time; all by default.",
    "points_adjust.points": "The points to add; negative: to take.",
    "points_adjust.reason": "The reason, kept in the ledger.",
    "points_adjust.user_id": "The ID of the user.",
    "product_search.query": "The words to look for; without any, all products.",
    "usergroup_membership_set.user_id": "The ID of the user.",
    "inbox.user_id": "The ID of the user.",
}


def describe_arguments(schema: GraphQLSchema) -> None:
    """Set the descriptions of the arguments that don't declare one; a test refuses public ones that are listed nowhere."""
    for type_ in schema.type_map.values():
        if not isinstance(type_, GraphQLObjectType) or type_.name.startswith("__"):
            continue
        for name, field in type_.fields.items():
            for key, argument in field.args.items():
                if argument.description is None:
                    argument.description = _BY_FIELD.get(f"{name}.{key}") or _BY_NAME.get(key)
