// graphql-sse and graphql-ws: subscriptions resume after a cursor when the connection is lost, and end with the client.
import assert from "node:assert/strict";
import { createClient as createSseClient } from "graphql-sse";
import { createClient as createSocketClient } from "graphql-ws";
import { WebSocket } from "ws";
import { headers, parameters, url } from "./server.mjs";

const query = "subscription ($after: String) { events(after: $after, types: [\"product.updated\"]) { cursor data } }";
const mutation = "mutation ($id: ID!, $price: BigInt!) { product_update(id: $id, input: { price_cents: $price }) { id } }";
const prices = [1100, 1200, 1300];

async function change(price) {
  const body = JSON.stringify({ query: mutation, variables: { id: parameters.product, price } });
  const response = await fetch(url, { method: "POST", headers: { ...headers, "Content-Type": "application/json" }, body });
  assert.equal((await response.json()).errors, undefined);
}

/** The price of each event after the cursor, until there are `count`, and the cursor after them. */
async function follow(client, after, count) {
  const found = [];
  for await (const { data, errors } of client.iterate({ query, variables: { after } })) {
    assert.equal(errors, undefined);
    found.push(data.events.data.price_cents);
    after = data.events.cursor;
    if (found.length === count) break;
  }
  return { found, after };
}

// Browsers send no headers with a WebSocket: `connectionParams` name the caller and the store, or `?tenant=` names the store.
const { Authorization } = headers;
const tenant = headers["X-Tenant-ID"];
const socketUrl = url.replace(/^http/, "ws");
const clients = [
  createSseClient({ url, headers }),
  createSocketClient({ url: socketUrl, webSocketImpl: WebSocket, connectionParams: { Authorization, "X-Tenant-ID": tenant } }),
  createSocketClient({ url: `${socketUrl}?tenant=${tenant}`, webSocketImpl: WebSocket, connectionParams: { Authorization } }),
];
for (const client of clients) {
  const start = await fetch(url, {
    method: "POST",
    headers: { ...headers, "Content-Type": "application/json" },
    body: JSON.stringify({ query: '{ events(after: "latest") { page_info { end_cursor } } }' }),
  });
  const cursor = (await start.json()).data.events.page_info.end_cursor;
  for (const price of prices) await change(price);
  const first = await follow(client, cursor, 2);
  assert.deepEqual(first.found, prices.slice(0, 2));
  assert.deepEqual((await follow(client, first.after, 1)).found, prices.slice(2));

  const refused = client.iterate({ query: "subscription { events { nothing } }" });
  const outcome = await refused.next().catch((errors) => ({ value: { errors } }));
  assert.match(JSON.stringify(outcome.value), /GRAPHQL_VALIDATION_FAILED/);
  client.dispose();
}

const wrong = createSocketClient({
  url: `${socketUrl}?tenant=${tenant}`, webSocketImpl: WebSocket, connectionParams: { Authorization: "Bearer vat_live_wrong" },
  retryAttempts: 0,
});
await assert.rejects(follow(wrong, null, 1), (event) => event.code === 4403);
process.exit(0);
