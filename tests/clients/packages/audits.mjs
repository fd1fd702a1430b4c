// graphql-http: print `{name: {status, reason, http}}` of each audit of the GraphQL over HTTP specification.
import { auditServer } from "graphql-http";
import { headers, url } from "./server.mjs";

const fetchFn = (input, options = {}) => {
  const all = new Headers(options.headers);
  for (const [name, value] of Object.entries(headers)) all.set(name, value);
  return fetch(input, { ...options, headers: all });
};
const results = await auditServer({ url, fetchFn });
const entry = ({ id, name, status, reason, response }) => [`${id} ${name}`, { status, reason, http: response?.status }];
console.log(JSON.stringify(Object.fromEntries(results.map(entry))));
