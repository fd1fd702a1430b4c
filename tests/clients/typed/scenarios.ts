// Use the installed client: `node scenarios.js NAME JSON` prints the result of a scenario as JSON.
//
// `tsc` checks the file strictly: an unused `@ts-expect-error` is an error, so each of them states what the types refuse.
import type { TypedDocumentNode } from "@graphql-typed-document-node/core";
import {
  ApiError,
  ApiKey,
  AppTokens,
  ConnectionFailed,
  type Credential,
  type CurrentComponents,
  StorefrontKey,
  TwoFactorChallenge,
  type Tokens,
  UserSession,
  verifyWebhook,
  Vitrine,
} from "vitrine-client";
import type { CategoryInput } from "vitrine-client/schema";

declare const process: { argv: string[] };
declare const console: { log(text: string): void };

// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Given = any;

interface ProductsResult {
  product_connection: { edges: { node: { name: string } }[]; page_info: { has_next_page: boolean; end_cursor: string | null } };
}
const PRODUCTS_TEXT = `query ($first: Int!, $after: String) {
  product_connection(first: $first, after: $after, sort: NAME_ASC) { edges { node { name } } page_info { has_next_page end_cursor } }
}`;
// What graphql-tag makes of it.
const PRODUCTS = { kind: "Document", definitions: [], loc: { source: { body: PRODUCTS_TEXT } } } as unknown as TypedDocumentNode<
  ProductsResult,
  { first: number; after?: string }
>;

const clientOf = (given: Given, credential?: Credential) => new Vitrine({ url: given.base, store: given.store, credential });
const tokensOf = ({ access_token: accessToken, refresh_token: refreshToken, expires_at: expiresAt }: Given): Tokens => ({
  accessToken,
  refreshToken,
  expiresAt,
});
const appOf = (token: string) => new AppTokens({ accessToken: token, refreshToken: "" }, { clientId: "", clientSecret: "" });

async function collect<T, U>(items: AsyncIterable<T>, of: (item: T) => U): Promise<U[]> {
  const found: U[] = [];
  for await (const item of items) found.push(of(item));
  return found;
}

async function codeOf(attempt: Promise<unknown>): Promise<unknown> {
  try {
    return await attempt;
  } catch (error) {
    if (error instanceof ApiError) return error.code;
    if (error instanceof ConnectionFailed) return error.wasSent;
    throw error;
  }
}

const scenarios: Record<string, (given: Given) => Promise<unknown>> = {
  // Send requests at once with an expired token, as a user or as an app.
  async renewal(given) {
    const renewed: string[] = [];
    const keep = async (tokens: Tokens) => void renewed.push(tokens.refreshToken);
    const app = new AppTokens(tokensOf(given), { clientId: given.client_id, clientSecret: given.client_secret }, keep);
    const user = new UserSession(tokensOf(given), keep);
    const client = clientOf(given, given.client_id ? app : user);
    const read = () => client.current.get("/api/v1/admin/products", { query: { per_page: 1 } });
    const pages = await Promise.all(Array.from({ length: given.count }, read));
    await (given.client_id ? app.revoke(client.transport) : client.signOut(user));
    return { totals: pages.map((page) => page.total), renewed, ended: await codeOf(read()) };
  },

  // Sign in with a second factor.
  async sign_in(given) {
    const shop = clientOf(given);
    const result = await shop.signIn(given.identifier, given.password);
    if (!(result instanceof TwoFactorChallenge)) throw new Error("no challenge");
    const wrong = await codeOf(result.verify("000000"));
    const account = await shop.withCredential(await result.verify(given.code)).current.get("/api/v1/auth/me");
    return { wrong, email: account.email };
  },

  // Exchange the code of an app's approval.
  async exchange(given) {
    const shop = clientOf(given);
    const tokens = await shop.exchangeCode(given.code, { clientId: given.client_id, clientSecret: given.client_secret });
    const page = await shop.withCredential(tokens).apps.get("/api/admin/orders", { query: { limit: 1 } });
    return page.total;
  },

  // Place an order through a connection with faults, as a customer with a storefront key.
  async checkout(given) {
    const shop = clientOf(given, new StorefrontKey(given.key, new UserSession(tokensOf(given))));
    const body = { payment_id: given.payment, customer_email: "ana@example.com" };
    return (await shop.current.post("/api/v1/storefront/carts/{id}/checkout", { path: { id: given.cart }, body })).id;
  },

  // Create a category by GraphQL through a connection with faults.
  async mutation(given) {
    const client = clientOf(given, new UserSession(tokensOf(given)));
    const input: CategoryInput = { name: "Uma só" };
    const document = "mutation ($input: CategoryInput!) { made: category_create(input: $input) { id } }";
    return (await client.graphql<{ made: { id: string } }>(document, { input })).made.id;
  },

  // Send writes that must not be sent twice through a connection that is cut.
  async unkeyed(given) {
    const shop = clientOf(given, new StorefrontKey(given.key));
    const path = { id: given.cart as string };
    const cart = await shop.current.put("/api/v1/storefront/carts/{id}/address", { path, body: { zipcode: "01001-000" } });
    return [
      cart.id,
      await codeOf(shop.current.post("/api/v1/storefront/carts/{id}/coupon", { path, body: { code: "NADA" } })),
      await codeOf(shop.graphql('mutation { storefront_key_create(input: { name: "x" }) { key } }')),
    ];
  },

  // Read a list of several pages in every family.
  async pages(given) {
    const shop = clientOf(given);
    const admin = shop.withCredential(new UserSession(tokensOf(given)));
    const { legacy } = shop.withCredential(new ApiKey(given.email, given.api_key));
    const { apps } = shop.withCredential(appOf(given.app_token));
    const nodes = admin.nodes(PRODUCTS, { first: 100 }, (data) => data.product_connection);
    return {
      graphql: await collect(nodes, ({ name }) => name),
      current: await collect(admin.current.each("/api/v1/admin/products", { query: { sort_by: "name" } }), ({ name }) => name),
      apps: await collect(apps.each("/api/storefront/products", { query: { sort_by: "name" } }), ({ name }) => name),
      legacy: await collect(legacy.each("/api/products", { query: { sort_by: "product" } }), ({ product }) => product),
      // Keyed by numbers, which JavaScript sorts.
      keyed: (await collect(legacy.each("/api/products", { query: { status: ["A", "H"] } }), ({ product }) => product)).sort(),
    };
  },

  // Provoke the errors of every family.
  async errors(given) {
    const shop = clientOf(given);
    const admin = shop.withCredential(new UserSession(tokensOf(given)));
    const { legacy } = shop.withCredential(new ApiKey(given.email, given.api_key));
    const app = shop.withCredential(appOf(given.app_token));
    const front = shop.withCredential(new StorefrontKey(given.key));
    const attempts = [
      () => admin.current.post("/api/v1/admin/products", { body: { name: "Sem preço", price_cents: -1 } }),
      () => app.apps.put("/api/admin/orders/{id}/status", { path: { id: given.order }, body: { status: "?" } }),
      () => legacy.get("/api/products/{id}", { path: { id: "9999999/x y" } }),
      () => admin.graphql("{ products(limit: -1) { id } }"),
      () => admin.graphql('mutation { product_delete(id: "0") { id } }'),
      () =>
        front.current.post("/api/v1/storefront/carts/{id}/checkout", {
          path: { id: given.cart },
          body: { payment_id: given.payment, customer_email: "a@example.com" },
        }),
      () => app.current.get("/api/v1/admin/storefront-keys"),
    ];
    const found: unknown[] = [];
    for (const attempt of attempts)
      await (attempt() as Promise<unknown>).catch((error: unknown) => {
        if (!(error instanceof ApiError)) throw error;
        found.push([error.family, error.status, error.code, error.field ?? null, error.requestId !== ""]);
      });
    return found;
  },

  // Follow the feed, beginning again after some events; return the numbers of the events.
  async events(given) {
    const sequences: number[] = [];
    const client = clientOf(given, given.as_user ? new UserSession(tokensOf(given)) : appOf(given.access_token));
    let after: string = given.after;
    for (const part of given.parts)
      for await (const event of client.events({ after, types: given.types, pollSeconds: 0.1, idleSeconds: given.idle })) {
        sequences.push(event.sequence);
        after = event.cursor;
        if (sequences.length >= part) break;
      }
    try {
      for await (const _ of client.events({ after: "expired" })) break;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return { sequences, status: error.status, oldest: error.details["oldest_cursor"] ?? null };
    }
    return { sequences };
  },

  // Verify deliveries; return their ids, or null for those that are refused.
  async webhooks(given) {
    const results = given.deliveries.map(async ({ body, headers, secrets, now }: Given) => {
      const options = now === undefined ? {} : { now };
      return (await verifyWebhook(body, headers, secrets, options).catch(() => null))?.id ?? null;
    });
    return Promise.all(results);
  },

  // Return what is read of documents: the kind of their operation, and whether it takes an Idempotency-Key.
  async documents(given) {
    const internal: string = new URL("./node_modules/vitrine-client/dist/documents.js", import.meta.url).href;
    const { findOperation, takesIdempotencyKey } = await import(internal);
    return given.documents.map(([text, name]: [string, string | null]) => {
      const operation = findOperation(text, name ?? undefined);
      return operation ? [operation.kind, takesIdempotencyKey(operation)] : null;
    });
  },
};

/** Never run. */
export async function typesOf(client: Vitrine): Promise<void> {
  const page = await client.current.get("/api/v1/admin/products");
  const cents: number | undefined = page.products[0]?.price_cents;
  const record: CurrentComponents["schemas"]["Product"] | undefined = page.products[0];
  const typed: ProductsResult = await client.graphql(PRODUCTS, { first: 1 });
  void [cents, record, typed];
  // @ts-expect-error: a number
  await client.current.get("/api/v1/admin/products", { query: { per_page: "many" } });
  // @ts-expect-error: no such route
  await client.current.get("/api/v1/admin/produtos");
  // @ts-expect-error: no such method
  await client.current.delete("/api/v1/admin/orders/{id}", { path: { id: "x" } });
  // @ts-expect-error: the path needs its id
  await client.apps.get("/api/admin/orders/{id}");
  // @ts-expect-error: an amount is an integer
  await client.current.post("/api/v1/admin/products", { body: { name: "x", price_cents: "9.90" } });
  // @ts-expect-error: `first` is required
  await client.graphql(PRODUCTS, {});
  // @ts-expect-error: there may be a second factor
  (await client.signIn("x", "y")).tokens;
}

const [, , name = "", given = "{}"] = process.argv;
console.log(JSON.stringify(await scenarios[name]?.(JSON.parse(given))));
