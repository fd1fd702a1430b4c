// A client of /graphql: sends an operation with the session's token and returns its data, or throws the error of the server.
import { storeHeaders } from "../config";
import type { TypedDocumentString } from "../generated";
import { type GraphQLErrorBody, reach, type ServerError, statusError, toServerError } from "./errors";
import { accessToken, expire, forgetAccess } from "./session";

type Values = Record<string, unknown>;

interface Answer<Data> {
  data: Data | null;
  // Errors of fields that are null for this user; their neighbours are there.
  errors: ServerError[];
}

export async function execute<Data, Variables>(
  document: TypedDocumentString<Data, Variables>,
  ...[variables, key]: Variables extends Record<string, never> ? [] : [Variables, key?: string]
): Promise<Data> {
  return (await send<Data>(String(document), (variables ?? {}) as Values, key)).data;
}

// For documents that are written at run time, from the description of an entity.
export async function send<Data = Values>(query: string, variables: Values = {}, key?: string): Promise<Answer<Data> & { data: Data }> {
  const body = JSON.stringify({ query, variables });
  return complete<Data>(await post(body, { "Content-Type": "application/json", ...(key ? { "Idempotency-Key": key } : {}) }));
}

// An operation with a file (docs/reference/graphql.md#multipart-requests).
export async function upload<Data>(query: string, name: string, file: File, variables: Values = {}): Promise<Data> {
  const form = new FormData();
  form.set("operations", JSON.stringify({ query, variables: { ...variables, [name]: null } }));
  form.set("map", JSON.stringify({ 0: [`variables.${name}`] }));
  form.set("0", file);
  return (await complete<Data>(await post(form, { "Apollo-Require-Preflight": "true" }))).data;
}

async function post(body: BodyInit, headers: Record<string, string>): Promise<Response> {
  const response = await postOnce(body, headers);
  if (response.status !== 401) return response;
  // The session may have been renewed elsewhere; if it has ended, this is the last attempt.
  forgetAccess();
  const again = await postOnce(body, headers);
  if (again.status === 401) expire();
  return again;
}

async function postOnce(body: BodyInit, headers: Record<string, string>): Promise<Response> {
  const token = await accessToken();
  const credential: Record<string, string> = token ? { Authorization: `Bearer ${token}` } : {};
  return reach("/graphql", { method: "POST", headers: { ...headers, ...storeHeaders(), ...credential }, body });
}

async function complete<Data>(response: Response): Promise<Answer<Data> & { data: Data }> {
  const answer = (await response.json().catch(() => ({}))) as { data?: Data | null; errors?: GraphQLErrorBody[]; error?: string; message?: string };
  const errors = (answer.errors ?? []).map(toServerError);
  const data = answer.data ?? null;
  const isEmpty = data === null || Object.values(data).every((value) => value === null);
  if (data !== null && !(isEmpty && errors.length)) return { data, errors };
  if (errors[0]) throw errors[0];
  throw statusError(response.status, answer.message, answer.error);
}
