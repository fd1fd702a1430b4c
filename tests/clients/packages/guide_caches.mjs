// The normalized caches of Apollo and urql as the guide configures them, with its operations: pages that were read are read again without a
// request, and a change of the cart is seen by its page.
import assert from "node:assert/strict";
import { ApolloClient, HttpLink, gql } from "@apollo/client";
import { Client, fetchExchange } from "@urql/core";
import { cache } from "./apollo_cache.mjs";
import { cache as exchange } from "./graphcache.mjs";
import { headers, parameters, recordingFetch, url } from "./server.mjs";

const { operations, slug } = parameters;
const complaints = [];
console.warn = console.error = (...texts) => complaints.push(texts.join(" "));
const { requests, recording } = recordingFetch();
const apollo = new ApolloClient({ link: new HttpLink({ uri: url, headers, fetch: recording }), cache });
const urql = new Client({ url, fetch: recording, fetchOptions: { headers }, preferGetMethod: false, exchanges: [exchange, fetchExchange] });
const clients = {
  apollo: {
    query: (name, variables) => apollo.query({ query: gql(operations[name]), variables }),
    mutation: (name, variables) => apollo.mutate({ mutation: gql(operations[name]), variables }),
  },
  urql: {
    query: (name, variables) => urql.query(operations[name], variables),
    mutation: (name, variables) => urql.mutation(operations[name], variables),
  },
};

for (const [title, client] of Object.entries(clients)) {
  const ask = async (kind, name, variables) => {
    const { data, error } = await client[kind](name, variables);
    assert.equal(error, undefined, `${title} ${name}`);
    return data;
  };
  const read = [["Home", {}], ["ProductPage", { slug }], ["ProductList", { first: 2, sort: "NAME_ASC" }], ["BestSelling", {}]];
  for (const [name, variables] of read) await ask("query", name, variables);
  const { product } = await ask("query", "ProductPage", { slug });
  await ask("query", "Search", { query: product.name });
  const lines = { input: { items: [{ product_id: product.id, quantity: 1 }] } };
  const { cart_create } = await ask("mutation", "CreateCart", lines);
  const page = ["query", "CartPage", { cart: cart_create.id }];
  const { cart } = await ask(...page);
  await ask("mutation", "UpdateCartItem", { cart: cart.id, item: cart.items[0].id, quantity: 3 });
  const sent = requests.length;
  const { cart: changed } = await ask(...page);
  assert.deepEqual([changed.items[0].quantity, changed.total_cents], [3, 3 * cart.total_cents], title);
  for (const [name, variables] of read) {
    await ask("query", name, variables);
    assert.equal(requests.length, sent, `${title}: ${name} is read from the cache`);
  }
}
assert.deepEqual(complaints, []);
