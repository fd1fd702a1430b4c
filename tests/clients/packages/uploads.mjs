// Uploads with Apollo Client (apollo-upload-client) and urql, as multipart requests; by graphql-request and fetch to a signed address.
import assert from "node:assert/strict";
import { ApolloClient, InMemoryCache, gql } from "@apollo/client";
import { Client, fetchExchange } from "@urql/core";
import { GraphQLClient } from "graphql-request";
import UploadHttpLink from "apollo-upload-client/UploadHttpLink.mjs";
import { headers, parameters, url } from "./server.mjs";

const upload = gql`mutation Upload($file: Upload!, $alt: String) {
  media_upload(file: $file, alt: $alt) { id status mime_type width alt file_name }
}`;
const [first, second, third] = parameters.pictures.map((content) => Buffer.from(content, "base64"));
const png = (content) => new File([content], "caneca.png", { type: "image/png" });
const stored = { status: "ready", mime_type: "image/png", alt: "Caneca", file_name: "caneca.png" };

const apollo = new ApolloClient({ link: new UploadHttpLink({ uri: url, headers }), cache: new InMemoryCache() });
{
  const { data } = await apollo.mutate({ mutation: upload, variables: { file: png(first), alt: "Caneca" } });
  const { __typename, id, width, ...file } = data.media_upload;
  assert.deepEqual([__typename, file, width], ["MediaFile", stored, 20]);

  // Two files in one document, and one document without files by the same link. Files are equal arguments to Apollo's cache.
  const two = gql`mutation Two($a: Upload!, $b: Upload!) {
    a: media_upload(file: $a) { id } b: media_upload(file: $b) { id }
  }`;
  const ids = (await apollo.mutate({ mutation: two, variables: { a: png(first), b: png(second) }, fetchPolicy: "no-cache" })).data;
  assert.equal(ids.a.id, id);
  assert.notEqual(ids.b.id, id);
  const { data: shown } = await apollo.query({ query: gql`query One($id: ID!) { media_file(id: $id) { id width } }`, variables: { id } });
  assert.equal(shown.media_file.width, 20);

  const text = new File(["no picture"], "a.png", { type: "image/png" });
  await assert.rejects(apollo.mutate({ mutation: upload, variables: { file: text } }), (error) => {
    assert.deepEqual(error.errors[0].extensions.details.fields, { file: "media_invalid" });
    return true;
  });
}

const urql = new Client({ url, fetchOptions: { headers }, preferGetMethod: false, exchanges: [fetchExchange] });
{
  const { data, error } = await urql.mutation(upload, { file: png(second), alt: "Outra" });
  assert.equal(error, undefined);
  assert.deepEqual([data.media_upload.status, data.media_upload.width], ["ready", 30]);
}

// A client that knows no files asks for an address.
const client = new GraphQLClient(url, { headers });
const input = { file_name: "c.png", mime_type: "image/png", bytes: third.length };
const created = await client.request(
  "mutation($input: MediaUploadInput!) { media_upload_create(input: $input) { media_id url method headers } }",
  { input },
);
const address = created.media_upload_create;
const sent = await fetch(address.url, { method: address.method, headers: address.headers, body: third });
assert.equal(sent.status, 201);
const complete = "mutation($id: ID!) { media_upload_complete(media_id: $id) { status width } }";
const { media_upload_complete: file } = await client.request(complete, { id: address.media_id });
assert.deepEqual(file, { status: "ready", width: 40 });
