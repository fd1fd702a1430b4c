"""Use the installed client: `python scenarios.py NAME JSON` prints the result of a scenario as JSON.

`mypy --strict` checks the file: an unused `type: ignore` is an error, so each of them states what the types refuse.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any

from vitrine_client import (
    ApiError,
    ApiKey,
    AppTokens,
    ConnectionFailed,
    Credential,
    StorefrontKey,
    Tokens,
    TwoFactorChallenge,
    UserSession,
    Vitrine,
    WebhookRejected,
    verify_webhook,
)
from vitrine_client.documents import find_operation
from vitrine_client.generated import current

Parameters = dict[str, Any]
PRODUCTS = """query ($first: Int!, $after: String) {
  product_connection(first: $first, after: $after, sort: NAME_ASC) { edges { node { name } } page_info { has_next_page end_cursor } }
}"""


def client_of(parameters: Parameters, credential: Credential | None = None) -> Vitrine:
    return Vitrine(parameters["base"], store=parameters["store"], credential=credential)


def tokens_of(parameters: Parameters) -> Tokens:
    return Tokens(parameters["access_token"], parameters["refresh_token"], parameters.get("expires_at"))


async def renewal(parameters: Parameters) -> Any:
    """Send requests at once with an expired token, as a user or as an app."""
    renewed: list[Tokens] = []

    async def keep(tokens: Tokens) -> None:
        await asyncio.sleep(0)
        renewed.append(tokens)

    credential: UserSession | AppTokens = UserSession(tokens_of(parameters), keep)
    if "client_id" in parameters:
        secrets = {"client_id": parameters["client_id"], "client_secret": parameters["client_secret"]}
        credential = AppTokens(tokens_of(parameters), **secrets, on_renewed=keep)
    async with client_of(parameters, credential) as client:
        impatient = asyncio.create_task(client.current.get_v1_admin_products(per_page=1))
        await asyncio.sleep(0)
        impatient.cancel()  # doesn't cancel the renewal that the others wait for
        pages = await asyncio.gather(
            *(client.current.get_v1_admin_products(per_page=1) for _ in range(parameters["count"]))
        )
        refused: str | None = None
        if isinstance(credential, AppTokens):
            await credential.revoke(client.transport)
        else:
            await client.sign_out(credential)
        try:
            await client.current.get_v1_admin_products()
        except ApiError as error:
            refused = error.code
    return {
        "totals": [page["total"] for page in pages],
        "renewed": [tokens.refresh_token for tokens in renewed],
        "ended": refused,
    }


async def sign_in(parameters: Parameters) -> Any:
    """Sign in with a second factor."""
    async with client_of(parameters) as shop:
        result = await shop.sign_in(parameters["identifier"], parameters["password"])
        assert isinstance(result, TwoFactorChallenge)
        try:
            await result.verify("000000")
        except ApiError as error:
            wrong = error.code
        session = await result.verify(parameters["code"])
        account = await shop.with_credential(session).current.get_v1_auth_me()
    return {"wrong": wrong, "email": account["email"]}


async def exchange(parameters: Parameters) -> Any:
    """Exchange the code of an app's approval."""
    async with client_of(parameters) as shop:
        tokens = await shop.exchange_code(
            parameters["code"], client_id=parameters["client_id"], client_secret=parameters["client_secret"]
        )
        page = await shop.with_credential(tokens).apps.get_admin_orders(limit=1)
    return page["total"]


async def checkout(parameters: Parameters) -> Any:
    """Place an order through a connection with faults, as a customer with a storefront key."""
    customer = UserSession(tokens_of(parameters))
    async with client_of(parameters, StorefrontKey(parameters["key"], customer)) as shop:
        order = await shop.current.post_v1_storefront_carts_by_id_checkout(
            parameters["cart"], {"payment_id": parameters["payment"], "customer_email": "ana@example.com"}
        )
    return order["id"]


async def mutation(parameters: Parameters) -> Any:
    """Create a category by GraphQL through a connection with faults."""
    async with client_of(parameters, UserSession(tokens_of(parameters))) as client:
        document = "mutation ($input: CategoryInput!) { made: category_create(input: $input) { id } }"
        return (await client.graphql(document, {"input": {"name": "Uma só"}}))["made"]["id"]


async def unkeyed(parameters: Parameters) -> Any:
    """Send writes that must not be sent twice through a connection that is cut."""
    results: list[str | bool] = []
    async with client_of(parameters, StorefrontKey(parameters["key"])) as shop:
        body: current.CartAddressChanges = {"zipcode": "01001-000"}
        results.append((await shop.current.put_v1_storefront_carts_by_id_address(parameters["cart"], body))["id"])
        try:
            await shop.current.post_v1_storefront_carts_by_id_coupon(parameters["cart"], {"code": "NADA"})
        except ConnectionFailed as error:
            results.append(error.was_sent)
        document = 'mutation { storefront_key_create(input: { name: "x" }) { key } }'
        try:
            await shop.graphql(document)
        except ConnectionFailed as error:
            results.append(error.was_sent)
    return results


async def pages(parameters: Parameters) -> Any:
    """Read a list of several pages in every family."""
    async with client_of(parameters) as shop:
        admin = shop.with_credential(UserSession(tokens_of(parameters)))
        legacy = shop.with_credential(ApiKey(parameters["email"], parameters["api_key"]))
        app = shop.with_credential(AppTokens(Tokens(parameters["app_token"], ""), client_id="", client_secret=""))
        return {
            "graphql": [node["name"] async for node in admin.nodes(PRODUCTS, {"first": 100})],
            "current": [product["name"] async for product in admin.current.each_v1_admin_products(sort_by="name")],
            "apps": [product["name"] async for product in app.apps.each_storefront_products(sort_by="name")],
            "legacy": [product["product"] async for product in legacy.legacy.each_products(sort_by="product")],
            "keyed": [
                product["product"]
                async for product in legacy.legacy.each_products(sort_by="product", status=["A", "H"])
            ],
        }


async def errors(parameters: Parameters) -> Any:
    """Provoke the errors of every family."""
    async with client_of(parameters) as shop:
        admin = shop.with_credential(UserSession(tokens_of(parameters)))
        legacy = shop.with_credential(ApiKey(parameters["email"], parameters["api_key"]))
        app = shop.with_credential(AppTokens(Tokens(parameters["app_token"], ""), client_id="", client_secret=""))
        front = shop.with_credential(StorefrontKey(parameters["key"]))
        attempts: list[Awaitable[Any]] = [
            admin.current.post_v1_admin_products({"name": "Sem preço", "price_cents": -1}),
            app.apps.put_admin_orders_by_id_status(parameters["order"], {"status": "?"}),
            legacy.legacy.get_products_by_id("9999999/x y"),
            admin.graphql("{ products(limit: -1) { id } }"),
            admin.graphql('mutation { product_delete(id: "0") { id } }'),
            front.current.post_v1_storefront_carts_by_id_checkout(
                parameters["cart"], {"payment_id": parameters["payment"], "customer_email": "a@example.com"}
            ),
            app.current.get_v1_admin_storefront_keys(),
        ]
        seen = []
        for attempt in attempts:
            try:
                await attempt
            except ApiError as error:
                is_shown = error.request_id != "" and error.request_id in str(error)
                seen.append([error.family, error.status, error.code, error.field, is_shown])
        return seen


async def events(parameters: Parameters) -> Any:
    """Follow the feed, beginning again after some events; return the numbers of the events."""
    sequences: list[int] = []
    credential: Credential = AppTokens(Tokens(parameters["access_token"], ""), client_id="", client_secret="")
    if parameters.get("as_user"):
        credential = UserSession(tokens_of(parameters))
    cursor = parameters["after"]
    async with client_of(parameters, credential) as client:
        for part in parameters["parts"]:
            feed = client.events(
                cursor, types=parameters.get("types"), poll_seconds=0.1, idle_seconds=parameters.get("idle", 60)
            )
            async with aclosing(feed) as followed:
                async for event in followed:
                    sequences.append(event["sequence"])
                    cursor = event["cursor"]
                    if len(sequences) >= part:
                        break
        try:
            async with aclosing(client.events("expired")) as followed:
                async for _ in followed:
                    break
        except ApiError as error:
            return {"sequences": sequences, "status": error.status, "oldest": error.details.get("oldest_cursor")}
    return {"sequences": sequences}


SUBSCRIPTION = """subscription ($after: String) {
  events(after: $after, types: ["order.updated"]) { sequence cursor order { id } }
}"""


async def subscription(parameters: Parameters) -> Any:
    """Follow a subscription with an expired token, beginning again after some events; return the numbers of the events."""
    sequences: list[int] = []
    renewed: list[Tokens] = []

    async def keep(tokens: Tokens) -> None:
        renewed.append(tokens)

    after = parameters["after"]
    async with client_of(parameters, UserSession(tokens_of(parameters), keep)) as client:
        for part in parameters["parts"]:
            async with aclosing(client.subscribe(SUBSCRIPTION, {"after": after})) as results:
                async for data in results:
                    sequences.append(data["events"]["sequence"])
                    after = data["events"]["cursor"]
                    if len(sequences) >= part:
                        break
        refused: list[str] = []
        for wrong in (SUBSCRIPTION.replace("sequence", "nothing"), SUBSCRIPTION.replace("cursor", "id")):
            try:
                async with aclosing(client.subscribe(wrong, {"after": parameters["after"]})) as results:
                    async for _ in results:
                        break
            except (ApiError, ValueError) as error:
                refused.append(type(error).__name__.lower())
    return {"sequences": sequences, "renewed": len(renewed), "refused": len(refused)}


async def interrupted(parameters: Parameters) -> Any:
    """Follow the feed and a subscription at once."""
    return await asyncio.gather(events(parameters["events"]), subscription(parameters["subscription"]))


async def webhooks(parameters: Parameters) -> Any:
    """Verify deliveries; return their ids, or None for those that are refused."""
    results: list[str | None] = []
    for delivery in parameters["deliveries"]:
        try:
            body = delivery["body"].encode()
            results.append(
                verify_webhook(body, delivery["headers"], delivery["secrets"], now=delivery.get("now"))["id"]
            )
        except WebhookRejected:
            results.append(None)
    return results


async def documents(parameters: Parameters) -> Any:
    """Return what is read of documents: the kind of their operation, and whether it takes an Idempotency-Key."""
    operations = [find_operation(text, name) for text, name in parameters["documents"]]
    return [operation and [operation.kind, operation.takes_idempotency_key] for operation in operations]


async def refused_by_the_types(client: Vitrine) -> None:
    """Never run."""
    await client.current.get_v1_admin_products(per_page="many")  # type: ignore[arg-type]
    await client.current.post_v1_admin_products({"price_cents": "9.90", "name": "x"})  # type: ignore[typeddict-item]
    await client.current.post_v1_auth_register({"name": "Ana"})  # type: ignore[typeddict-item]
    await client.legacy.get_products(sort_order="upwards")  # type: ignore[arg-type]
    (await client.apps.get_admin_orders())["pages"]  # type: ignore[typeddict-item]
    await client.sign_in("x", "y").tokens  # type: ignore[attr-defined]


SCENARIOS: dict[str, Callable[[Parameters], Awaitable[Any]]] = {
    function.__name__: function
    for function in (
        renewal, sign_in, exchange, checkout, mutation, unkeyed, pages, errors, events, interrupted, webhooks, documents,
    )
}  # fmt: skip


async def main() -> None:
    result = await SCENARIOS[sys.argv[1]](json.loads(sys.argv[2]))
    print(json.dumps(result))


if __name__ == "__main__":
    asyncio.run(main())
