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
type Parameters = any;

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

const SUBSCRIPTION_TEXT = `subscription ($after: String) {
  events(after: $after, types: ["order.updated"]) { sequence cursor order { id } }
}`;
const SUBSCRIPTION = { kind: "Document", loc: { source: { body: SUBSCRIPTION_TEXT } } } as unknown as TypedDocumentNode<
  { events: { sequence: number; cursor: string } },
  { after: string }
>;

const clientOf = (parameters: Parameters, credential?: Credential) => new Vitrine({ url: parameters.base, store: parameters.store, credential });
const tokensOf = ({ access_token: accessToken, refresh_token: refreshToken, expires_at: expiresAt }: Parameters): Tokens => ({
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

/** Follow a subscription with an expired token, beginning again after some events; return the numbers of the events. */
async function followSubscription(parameters: Parameters): Promise<unknown> {
  const sequences: number[] = [];
  let renewed = 0;
  const keep = async () => void renewed++;
  const client = clientOf(parameters, new UserSession(tokensOf(parameters), keep));
  let after: string = parameters.after;
  for (const part of parameters.parts)
    for await (const { events } of client.subscribe(SUBSCRIPTION, { after })) {
      sequences.push(events.sequence);
      after = events.cursor;
      if (sequences.length >= part) break;
    }
  let refused = 0;
  for (const wrong of [SUBSCRIPTION_TEXT.replace("sequence", "nothing"), SUBSCRIPTION_TEXT.replace("cursor", "id")])
    try {
      for await (const _ of client.subscribe(wrong, { after: parameters.after })) break;
    } catch (error) {
      if (!(error instanceof ApiError || error instanceof TypeError)) throw error;
      refused++;
    }
  return { sequences, renewed, refused };
}

const scenarios: Record<string, (parameters: Parameters) => Promise<unknown>> = {
  // Send requests at once with an expired token, as a user or as an app.
  async renewal(parameters) {
    const renewed: string[] = [];
    const keep = async (tokens: Tokens) => void renewed.push(tokens.refreshToken);
    const app = new AppTokens(tokensOf(parameters), { clientId: parameters.client_id, clientSecret: parameters.client_secret }, keep);
    const user = new UserSession(tokensOf(parameters), keep);
    const client = clientOf(parameters, parameters.client_id ? app : user);
    const read = () => client.current.get("/api/v1/admin/products", { query: { per_page: 1 } });
    const pages = await Promise.all(Array.from({ length: parameters.count }, read));
    await (parameters.client_id ? app.revoke(client.transport) : client.signOut(user));
    return { totals: pages.map((page) => page.total), renewed, ended: await codeOf(read()) };
  },

  // Sign in with a second factor.
  async sign_in(parameters) {
    const shop = clientOf(parameters);
    const result = await shop.signIn(parameters.identifier, parameters.password);
    if (!(result instanceof TwoFactorChallenge)) throw new Error("no challenge");
    const wrong = await codeOf(result.verify("000000"));
    const account = await shop.withCredential(await result.verify(parameters.code)).current.get("/api/v1/auth/me");
    return { wrong, email: account.email };
  },

  // Exchange the code of an app's approval.
  async exchange(parameters) {
    const shop = clientOf(parameters);
    const tokens = await shop.exchangeCode(parameters.code, { clientId: parameters.client_id, clientSecret: parameters.client_secret });
    const page = await shop.withCredential(tokens).apps.get("/api/admin/orders", { query: { limit: 1 } });
    return page.total;
  },

  // Place an order through a connection with faults, as a customer with a storefront key.
  async checkout(parameters) {
    const shop = clientOf(parameters, new StorefrontKey(parameters.key, new UserSession(tokensOf(parameters))));
    const body = { payment_id: parameters.payment, customer_email: "ana@example.com" };
    return (await shop.current.post("/api/v1/storefront/carts/{id}/checkout", { path: { id: parameters.cart }, body })).id;
  },

  // Create a category by GraphQL through a connection with faults.
  async mutation(parameters) {
    const client = clientOf(parameters, new UserSession(tokensOf(parameters)));
    const input: CategoryInput = { name: "Uma só" };
    const document = "mutation ($input: CategoryInput!) { made: category_create(input: $input) { id } }";
    return (await client.graphql<{ made: { id: string } }>(document, { input })).made.id;
  },

  // Send writes that must not be sent twice through a connection that is cut.
  async unkeyed(parameters) {
    const shop = clientOf(parameters, new StorefrontKey(parameters.key));
    const path = { id: parameters.cart as string };
    const cart = await shop.current.put("/api/v1/storefront/carts/{id}/address", { path, body: { zipcode: "01001-000" } });
    return [
      cart.id,
      await codeOf(shop.current.post("/api/v1/storefront/carts/{id}/coupon", { path, body: { code: "NADA" } })),
      await codeOf(shop.graphql('mutation { storefront_key_create(input: { name: "x" }) { key } }')),
    ];
  },

  // Read a list of several pages in every family.
  async pages(parameters) {
    const shop = clientOf(parameters);
    const admin = shop.withCredential(new UserSession(tokensOf(parameters)));
    const { legacy } = shop.withCredential(new ApiKey(parameters.email, parameters.api_key));
    const { apps } = shop.withCredential(appOf(parameters.app_token));
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
  async errors(parameters) {
    const shop = clientOf(parameters);
    const admin = shop.withCredential(new UserSession(tokensOf(parameters)));
    const { legacy } = shop.withCredential(new ApiKey(parameters.email, parameters.api_key));
    const app = shop.withCredential(appOf(parameters.app_token));
    const front = shop.withCredential(new StorefrontKey(parameters.key));
    const attempts = [
      () => admin.current.post("/api/v1/admin/products", { body: { name: "Sem preço", price_cents: -1 } }),
      () => app.apps.put("/api/admin/orders/{id}/status", { path: { id: parameters.order }, body: { status: "?" } }),
      () => legacy.get("/api/products/{id}", { path: { id: "9999999/x y" } }),
      () => admin.graphql("{ products(limit: -1) { id } }"),
      () => admin.graphql('mutation { product_delete(id: "0") { id } }'),
      () =>
        front.current.post("/api/v1/storefront/carts/{id}/checkout", {
          path: { id: parameters.cart },
          body: { payment_id: parameters.payment, customer_email: "a@example.com" },
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
  async events(parameters) {
    const sequences: number[] = [];
    const client = clientOf(parameters, parameters.as_user ? new UserSession(tokensOf(parameters)) : appOf(parameters.access_token));
    let after: string = parameters.after;
    for (const part of parameters.parts)
      for await (const event of client.events({ after, types: parameters.types, pollSeconds: 0.1, idleSeconds: parameters.idle })) {
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

  // Follow the feed and a subscription at once.
  interrupted: ({ events, subscription }) => Promise.all([scenarios["events"]?.(events), followSubscription(subscription)]),

  // Verify deliveries; return their ids, or null for those that are refused.
  async webhooks(parameters) {
    const results = parameters.deliveries.map(async ({ body, headers, secrets, now }: Parameters) => {
      const options = now === undefined ? {} : { now };
      return (await verifyWebhook(body, headers, secrets, options).catch(() => null))?.id ?? null;
    });
    return Promise.all(results);
  },

  // Return what is read of documents: the kind of their operation, and whether it takes an Idempotency-Key.
  async documents(parameters) {
    const internal: string = new URL("./node_modules/vitrine-client/dist/documents.js", import.meta.url).href;
    const { findOperation, takesIdempotencyKey } = await import(internal);
    return parameters.documents.map(([text, name]: [string, string | null]) => {
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
  // A member of a body with a default value may be left out.
  const payment: CurrentComponents["schemas"]["NewStorefrontPayment"] = { kind: "PIX" };
  void [cents, record, typed, payment];
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

const [, , name = "", parameters = "{}"] = process.argv;
console.log(JSON.stringify(await scenarios[name]?.(JSON.parse(parameters))));
