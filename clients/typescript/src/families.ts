// Typed requests to the REST families, by the paths of their OpenAPI documents, and lists read page by page.
import { isObject } from "./errors.js";
import { KEYED_ROUTES, PAGE_SIZES } from "./generated/requests.js";
import type { Transport } from "./transport.js";

type Method = "get" | "put" | "post" | "patch" | "delete";
type PathsWith<P, M extends Method> = { [K in keyof P]: P[K] extends Record<M, object> ? K : never }[keyof P] & string;
type OperationOf<P, K extends keyof P, M extends Method> = P[K] extends Record<M, infer O> ? O : never;

type PathParameters<O> = O extends { parameters: { path: infer T } } ? { path: T } : object;
type Query<T> = { [K in keyof T]: T[K] | (string extends T[K] ? readonly string[] : never) };
type QueryParameters<O> = O extends { parameters: { query: infer T } }
  ? { query: Query<T> }
  : O extends { parameters: { query?: infer T } }
    ? [T] extends [undefined]
      ? object
      : { query?: Query<NonNullable<T>> }
    : object;
type Body<O> = O extends { requestBody: { content: { "application/json": infer T } } }
  ? { body: T }
  : O extends { requestBody?: { content: { "application/json": infer T } } }
    ? { body?: T }
    : object;
export type RequestOptions<O> = PathParameters<O> &
  QueryParameters<O> &
  Body<O> & {
    /** In place of a generated key, where the route takes one. */
    idempotencyKey?: string;
    signal?: AbortSignal;
  };
type Optional<T> = object extends T ? [options?: T] : [options: T];

type Content<R, S extends number> = S extends keyof R ? (R[S] extends { content: { "application/json": infer T } } ? T : undefined) : never;
export type ResultOf<O> = O extends { responses: infer R } ? Content<R, 200 | 201 | 202 | 204> : never;

type ItemsOf<T> = [Extract<T, readonly unknown[]>] extends [never] ? never : Extract<T, readonly unknown[]>[number];
type RecordsOf<R> = R extends readonly (infer I)[] ? I : R extends object ? { [K in keyof R]-?: ItemsOf<R[K]> }[keyof R] : never;

interface AnyOptions {
  path?: Record<string, string> | undefined;
  query?: Record<string, unknown> | undefined;
  body?: unknown;
  idempotencyKey?: string | undefined;
  signal?: AbortSignal | undefined;
}

/** The routes of a family, by the paths of its OpenAPI document. */
export class Family<P> {
  constructor(
    private readonly transport: Transport,
    private readonly largestPage = 100,
  ) {}

  get<K extends PathsWith<P, "get">>(path: K, ...[options]: Optional<RequestOptions<OperationOf<P, K, "get">>>) {
    return this.request<ResultOf<OperationOf<P, K, "get">>>("GET", path, options as AnyOptions | undefined);
  }

  post<K extends PathsWith<P, "post">>(path: K, ...[options]: Optional<RequestOptions<OperationOf<P, K, "post">>>) {
    return this.request<ResultOf<OperationOf<P, K, "post">>>("POST", path, options as AnyOptions | undefined);
  }

  put<K extends PathsWith<P, "put">>(path: K, ...[options]: Optional<RequestOptions<OperationOf<P, K, "put">>>) {
    return this.request<ResultOf<OperationOf<P, K, "put">>>("PUT", path, options as AnyOptions | undefined);
  }

  patch<K extends PathsWith<P, "patch">>(path: K, ...[options]: Optional<RequestOptions<OperationOf<P, K, "patch">>>) {
    return this.request<ResultOf<OperationOf<P, K, "patch">>>("PATCH", path, options as AnyOptions | undefined);
  }

  delete<K extends PathsWith<P, "delete">>(path: K, ...[options]: Optional<RequestOptions<OperationOf<P, K, "delete">>>) {
    return this.request<ResultOf<OperationOf<P, K, "delete">>>("DELETE", path, options as AnyOptions | undefined);
  }

  /** Iterate over the records of a list, page by page. What is inserted or deleted meanwhile moves records from page to page. */
  async *each<K extends PathsWith<P, "get">>(
    path: K,
    ...[options]: Optional<RequestOptions<OperationOf<P, K, "get">>>
  ): AsyncGenerator<RecordsOf<ResultOf<OperationOf<P, K, "get">>>, void, undefined> {
    const { query = {}, path: parts, signal } = (options ?? {}) as AnyOptions;
    const sizeName = PAGE_SIZES[path] ?? "limit";
    const size = Number(query[sizeName] ?? this.largestPage);
    for (let page = 1; ; page++) {
      const request = { method: "GET", path: fill(path, parts), query: { ...query, [sizeName]: size, page }, signal };
      const { body, headers } = await this.transport.send(request);
      const records = collection(body) as RecordsOf<ResultOf<OperationOf<P, K, "get">>>[];
      yield* records;
      if (records.length === 0 || !hasNext(headers.get("Link") ?? "", body, records.length >= size)) return;
    }
  }

  private async request<T>(method: string, path: string, options: AnyOptions = {}): Promise<T> {
    const takesKey = method === "POST" && KEYED_ROUTES.has(path);
    const { path: parts, query, body, signal } = options;
    const idempotencyKey = takesKey ? (options.idempotencyKey ?? crypto.randomUUID()) : undefined;
    return (await this.transport.send({ method, path: fill(path, parts), query, body, idempotencyKey, signal })).body as T;
  }
}

function fill(path: string, parts: Readonly<Record<string, string>> = {}): string {
  return path.replace(/{(\w+)}/g, (_, name: string) => encodeURIComponent(String(parts[name])));
}

// Members of a list besides its records, which come first.
const hasCounts = (body: unknown): body is Record<string, unknown> =>
  isObject(body) && ["params", "search", "total"].some((name) => name in body);

/** Return the records of a page; the legacy API keys some by their ids, and sends some bare. */
function collection(body: unknown): unknown[] {
  const records = hasCounts(body) ? Object.values(body)[0] : body;
  return Array.isArray(records) ? (records as unknown[]) : Object.values(records ?? {});
}

function hasNext(link: string, body: unknown, isFull: boolean): boolean {
  if (!hasCounts(body)) return isFull;
  const counts = body["params"] ?? body["search"];
  if (isObject(counts) && "total_items" in counts)
    return Number(counts["page"]) * Number(counts["items_per_page"]) < Number(counts["total_items"]);
  return /<[^>]*>\s*;[^,]*\brel="?next"?/.test(link);
}
