// graphql-request: variables, headers and errors; a batch is refused with the reason.
import assert from "node:assert/strict";
import { ClientError, GraphQLClient, gql } from "graphql-request";
import { headers, names, url } from "./server.mjs";

const query = gql`query Products($n: Int!) { products(limit: $n, sort: NAME_ASC) { id name } }`;
for (const method of ["POST", "GET"]) {
  const client = new GraphQLClient(url, { headers, method });
  const { products } = await client.request(query, { n: 2 });
  assert.deepEqual(products.map(({ name }) => name), names.slice(0, 2));
  const { data, extensions } = await client.rawRequest(query, { n: 1 });
  assert.equal(data.products.length, 1);
  assert.equal(typeof extensions.cost, "number");
}

const client = new GraphQLClient(url, { headers });
await assert.rejects(client.request(gql`{ products { nope } }`), (error) => {
  assert(error instanceof ClientError);
  return error.response.errors[0].extensions.code === "GRAPHQL_VALIDATION_FAILED";
});
const documents = [{ document: query, variables: { n: 1 } }, { document: query, variables: { n: 2 } }];
await assert.rejects(client.batchRequests(documents), /batches are not supported; send one operation/);
const anonymous = new GraphQLClient(url, { headers: { "X-Tenant-ID": headers["X-Tenant-ID"] } });
await assert.rejects(anonymous.request(query, { n: 1 }), (error) => error.response.status === 401);
