// urql: its document cache, queries by POST and GET, variables and errors.
import assert from "node:assert/strict";
import { Client, cacheExchange, fetchExchange, gql } from "@urql/core";
import { headers, names, recordingFetch, url } from "./server.mjs";

const query = gql`query Products($n: Int!) { products(limit: $n, sort: NAME_ASC) { id name } }`;
for (const preferGetMethod of [false, "force"]) {
  const { requests, recording } = recordingFetch();
  const options = { url, fetch: recording, fetchOptions: { headers }, preferGetMethod };
  const client = new Client({ ...options, exchanges: [cacheExchange, fetchExchange] });
  for (const attempt of [1, 2]) {
    const { data, error } = await client.query(query, { n: 2 });
    assert.equal(error, undefined);
    assert.deepEqual(data.products.map(({ name }) => name), names.slice(0, 2), `attempt ${attempt}`);
  }
  assert.deepEqual(requests.map(({ method }) => method), [preferGetMethod ? "GET" : "POST"]);

  const refused = await client.query(gql`query { products(limit: 1) { id } orders { id } }`, {});
  assert.equal(refused.data.products.length, 1);
  assert.deepEqual(refused.error.graphQLErrors.map(({ extensions }) => extensions.code), ["FORBIDDEN"]);
  const wrong = await client.query(query, { n: -1 });
  assert.equal(wrong.error.graphQLErrors[0].extensions.code, "VALIDATION_FAILED");
}

const client = new Client({ url, fetchOptions: { headers }, preferGetMethod: false, exchanges: [fetchExchange] });
const { data } = await client.mutation(gql`mutation { cart_create(input: {}) { id items { quantity } } }`, {});
assert.deepEqual(data.cart_create.items, []);

const tenant = { "X-Tenant-ID": headers["X-Tenant-ID"] };
const anonymous = new Client({ url, fetchOptions: { headers: tenant }, preferGetMethod: false, exchanges: [fetchExchange] });
const { error } = await anonymous.query(query, { n: 1 });
assert.equal(error.response.status, 401);
assert.equal(error.graphQLErrors[0].extensions.code, "UNAUTHENTICATED");
