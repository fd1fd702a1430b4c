// Compiled with what the guide's configuration generates of the guide's operations: nothing of an answer is of type any.
import type { ResultOf, VariablesOf } from "@graphql-typed-document-node/core";
import * as operations from "./operations";

type IsAny<T> = 0 extends 1 & T ? true : false;
type Product = NonNullable<ResultOf<typeof operations.ProductPage>["product"]>;

export const names: (product: Product) => string[] = (product) => [product.name, ...(product.options ?? []).map((option) => option.name)];
export const price: (product: Product) => number | undefined = (product) => product.pricing?.price_cents;
export const nothingIsAny: [IsAny<Product>, IsAny<ResultOf<typeof operations.Checkout>["cart_checkout"]>] = [false, false];
export const found: VariablesOf<typeof operations.Search> = { query: "caneca" };
// @ts-expect-error: `query` is required
export const incomplete: VariablesOf<typeof operations.Search> = {};
