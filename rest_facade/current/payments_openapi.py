"""Document the routes of payments."""

from __future__ import annotations

from rest_facade.current import admin, storefront
from rest_facade.openapi import (
    INTEGER,
    STRING,
    OperationResult,
    RouteDocs,
    RouteKey,
    array,
    described,
    enum,
    named,
    object_schema,
    request_body,
)

_BILLING = named(
    "PaymentBilling",
    request_body(
        **dict.fromkeys(("name", "email", "document", "phone"), STRING),
        address=named(
            "PaymentBillingAddress",
            request_body(
                **dict.fromkeys(
                    ("street", "number", "complement", "district", "city", "state", "zipcode", "country"), STRING
                )
            ),
        ),
    ),
)
_NEW = {
    "kind": enum(("PIX", "BOLETO", "CARD")),
    "card_token": described(STRING, "What the gateway's script made of the card; never a card's number."),
    "installments": {"type": "integer", "minimum": 1, "default": 1},
    "billing": described(_BILLING, "Who pays, where it isn't the order's customer."),
}
_TOKEN = {"token": described(STRING, "The order's token, for who has no account.")}
_NO_ANSWER = {503: "The gateway of a payment that has to be cancelled first doesn't answer."}


def route_docs() -> dict[RouteKey, RouteDocs]:
    """Return the documentation of every route of payments."""
    docs: dict[RouteKey, RouteDocs] = {}
    for prefix, name, token in ((storefront.PREFIX, "Storefront", _TOKEN), (admin.PREFIX, "Admin", {})):
        payments = f"{prefix}/orders/{{id}}/payments"
        member = OperationResult(f"{name}Payments", member="payments", name="Payment")
        docs[("GET", payments)] = RouteDocs(
            "List the payments of an order", object_schema(payments=array(member)), query=token
        )
        docs[("POST", payments)] = RouteDocs(
            "Create a payment of what an order still costs",
            OperationResult(f"{name}PaymentCreate"),
            status=201,
            body=named(f"New{name}Payment", request_body("kind", **_NEW, **token)),
            errors=_NO_ANSWER,
        )
        docs[("POST", f"{payments}/{{payment_id}}/cancel")] = RouteDocs(
            "Cancel a payment that has not been paid",
            OperationResult(f"{name}PaymentCancel"),
            body=request_body(**token) if token else None,
            errors=_NO_ANSWER,
        )
    options = object_schema(payment_options=OperationResult("StorefrontPaymentOptions"))
    docs[("GET", f"{storefront.PREFIX}/orders/{{id}}/payment-options")] = RouteDocs(
        "List what an order can be paid with", options, query=_TOKEN
    )
    docs[("GET", f"{storefront.PREFIX}/carts/{{id}}/payment-options")] = RouteDocs(
        "List what a cart can be paid with", options
    )
    docs[("POST", f"{admin.PREFIX}/orders/{{id}}/payments/{{payment_id}}/refund")] = RouteDocs(
        "Refund a payment, or a part of it",
        OperationResult("AdminPaymentRefund"),
        body=request_body("amount_cents", amount_cents={**INTEGER, "minimum": 1}),
    )
    return docs
