// Compiled with the generated clients: what a program may rely on, and what they must reject.
import * as apps from "./apps-client/index.js";
import * as current from "./current-client/index.js";
import * as legacy from "./legacy-client/index.js";
import { getOrders } from "./legacy-orval/client.js";
import type { components, operations } from "./legacy.types.js";

type Schemas = components["schemas"];
type IsAny<T> = 0 extends 1 & T ? true : false;

export async function readProducts(): Promise<string[]> {
  const page = await current.getV1AdminProducts({ query: { per_page: 100, sort_by: "name" } });
  const app = await apps.getAdminOrders({ headers: { "X-Tenant-ID": "5a1c1f0e-6f0e-4f6e-9c0e-000000000000" } });
  const cents: number[] = (page.data?.products ?? []).map((product) => product.price_cents);
  const states: ("read" | "unpaid" | string)[] = (app.data?.orders ?? []).map((order) => order.payment_status);
  return [...cents.map(String), ...states];
}

export async function placeOrder(): Promise<string | number | undefined> {
  const created = await legacy.postOrders({
    body: { user_id: 3, products: { "1": { product_id: 12, amount: 2, price: "9.90" } } },
  });
  return created.data?.order_id;
}

export async function countOrders(): Promise<number> {
  const page = await getOrders({ page: 1 });
  return page.status === 200 ? page.data.params.total_items : 0;
}

export const prices: (product: Schemas["Product"]) => string = (product) => product.price;
export const lines: (order: Schemas["Order"]) => string[] = (order) =>
  Object.values(order.products).map((line) => line.amount);
export const nothingIsAny: [
  IsAny<Schemas["Order"]["payment_info"]>,
  IsAny<Schemas["ProductUpdateBody"]["product_features"]>,
  IsAny<operations["get_products"]["responses"][200]["content"]["application/json"]>,
] = [false, false, false];

// @ts-expect-error: a price is no boolean
export const wrongBody: Schemas["ProductUpdateBody"] = { price: true };
// @ts-expect-error: `email` is required
void legacy.postUsers({ body: { password: "s3cret" } });
// @ts-expect-error: no such status
export const wrongStatus: Schemas["Product"]["status"] = "X";
