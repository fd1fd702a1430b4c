// Uses the generated types as the clients of a shop do; `tsc` fails where a scalar isn't what the reference says.
import type { AddToCartMutation, AddToCartMutationVariables, OrdersQuery, PaymentMethodsQuery, ProductsQuery } from "./types";

type Is<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
type Item<T> = NonNullable<T> extends ReadonlyArray<infer I> ? I : never;
type Product = Item<NonNullable<ProductsQuery["product_connection"]>["edges"]>["node"];
type Order = Item<OrdersQuery["orders"]>;

export const cents: Is<Product["price_cents"], number> = true;
export const instant: Is<Product["created_at"], string> = true;
export const total: Is<Order["total_cents"], number> = true;
export const status: Is<Order["status"], string> = true;
export const shipment: Is<Item<Order["shipments"]>["status"], string> = true;
export const params: Is<NonNullable<Item<PaymentMethodsQuery["payment_methods"]>["processor_params"]>, Record<string, unknown>> = true;
export const optionValues: Is<Item<NonNullable<AddToCartMutation["cart_item_add"]>["items"]>["option_values"], unknown> = true;

export const item: AddToCartMutationVariables = { id: "x", item: { product_id: "y", quantity: 1 } };
// @ts-expect-error The quantity is a number.
export const wrong: AddToCartMutationVariables = { id: "x", item: { product_id: "y", quantity: "1" } };
