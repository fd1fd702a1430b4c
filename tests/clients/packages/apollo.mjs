// Apollo Client: the normalized cache, fetchMore over a connection, and persisted queries by POST and GET.
import assert from "node:assert/strict";
import { createHash, randomUUID } from "node:crypto";
import { ApolloClient, HttpLink, InMemoryCache, gql } from "@apollo/client";
import { CombinedGraphQLErrors } from "@apollo/client/errors";
import { PersistedQueryLink } from "@apollo/client/link/persisted-queries";
import { relayStylePagination } from "@apollo/client/utilities";
import { headers, names, recordingFetch, url } from "./server.mjs";

function clientWith(persisted) {
  const { requests, recording } = recordingFetch();
  const http = new HttpLink({ uri: url, headers, fetch: recording });
  const typePolicies = { Query: { fields: { product_connection: relayStylePagination(["sort"]) } } };
  const link = persisted ? new PersistedQueryLink({ sha256, ...persisted }).concat(http) : http;
  return { requests, client: new ApolloClient({ link, cache: new InMemoryCache({ typePolicies }) }) };
}

const sha256 = (text) => createHash("sha256").update(text).digest("hex");
const connection = gql`
  query Products($first: Int!, $after: String) {
    product_connection(first: $first, after: $after, sort: NAME_ASC) {
      edges { cursor node { id name } }
      page_info { has_next_page end_cursor }
    }
  }
`;

// The pages that fetchMore loads are one list in the cache.
{
  const { client, requests } = clientWith();
  const variables = { first: 1 };
  await client.query({ query: connection, variables });
  const products = client.watchQuery({ query: connection, variables });
  const subscription = products.subscribe(() => {});
  let page = products.getCurrentResult().data.product_connection.page_info;
  while (page.has_next_page) {
    const more = await products.fetchMore({ variables: { first: 2, after: page.end_cursor } });
    page = more.data.product_connection.page_info;
    assert(requests.length <= names.length);
  }
  subscription.unsubscribe();
  const data = client.readQuery({ query: connection, variables });
  assert.deepEqual(data.product_connection.edges.map(({ node }) => node.name), names);
  assert.equal(requests.length, 1 + Math.ceil((names.length - 1) / 2));

  // A record of the list is the same object of the cache as the record by its id.
  const { id } = data.product_connection.edges[0].node;
  const one = gql`query One($id: ID!) { product(id: $id) { id name price_cents } }`;
  const answer = await client.query({ query: one, variables: { id } });
  assert.equal(answer.data.product.name, names[0]);
  client.cache.modify({ id: client.cache.identify(answer.data.product), fields: { name: () => "Renamed" } });
  const cached = client.readQuery({ query: connection, variables });
  assert.equal(cached.product_connection.edges[0].node.name, "Renamed");
  const sent = requests.length;
  await client.query({ query: one, variables: { id } });
  assert.equal(requests.length, sent);

  await assert.rejects(client.query({ query: gql`query { orders { id } }` }), (error) => {
    assert(CombinedGraphQLErrors.is(error));
    return error.errors[0].extensions.code === "FORBIDDEN";
  });
}

// A text is sent once; then its hash is enough. Random names make the texts unknown to the server.
for (const [useGETForHashedQueries, method] of [[false, "POST"], [true, "GET"]]) {
  const { client, requests } = clientWith({ useGETForHashedQueries });
  const query = gql(`query P${randomUUID().replaceAll("-", "")}($n: Int!) { products(limit: $n, sort: NAME_ASC) { id name } }`);
  for (const n of [1, 2, 3]) {
    const { data } = await client.query({ query, variables: { n } });
    assert.deepEqual(data.products.map(({ name }) => name), names.slice(0, n));
  }
  assert.deepEqual(requests, [
    { method, text: false, persisted: true },
    { method: "POST", text: true, persisted: true },
    { method, text: false, persisted: true },
    { method, text: false, persisted: true },
  ]);
}
