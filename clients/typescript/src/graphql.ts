// Execute GraphQL documents.
import { findOperation, takesIdempotencyKey } from "./documents.js";
import type { Transport } from "./transport.js";

/**
 * A document: its text, or what generators make of it, with the types of its result and variables.
 *
 * `TypedDocumentNode` and `TypedDocumentString` are such documents. An AST without its source text needs the option `print`.
 */
export type Document<Result, Variables> =
  | string
  | (Typed<Result, Variables> & { toString(): string })
  | (Typed<Result, Variables> & { readonly kind: "Document"; readonly loc?: { readonly source: { readonly body: string } } | undefined });

interface Typed<Result, Variables> {
  __apiType?: ((variables: Variables) => Result) | undefined;
}

export interface ExecutionOptions {
  readonly operationName?: string | undefined;
  readonly idempotencyKey?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly print?: ((document: never) => string) | undefined;
}

export interface Connection<Node> {
  readonly edges: readonly { readonly node: Node }[];
  readonly page_info: { readonly has_next_page: boolean; readonly end_cursor?: string | null };
}

/** Return the data of a document; throw `GraphqlError`, which holds the data of a partial result. */
export async function execute<Result, Variables>(
  transport: Transport,
  document: Document<Result, Variables>,
  variables: Variables,
  options: ExecutionOptions,
): Promise<Result> {
  const query = textOf(document, options.print);
  const operation = findOperation(query, options.operationName);
  const takesKey = operation !== undefined && takesIdempotencyKey(operation);
  const { body } = await transport.send({
    method: "POST",
    path: "/graphql",
    body: { query, variables, operationName: options.operationName },
    headers: { Accept: "application/graphql-response+json, application/json;q=0.9" },
    idempotencyKey: options.idempotencyKey ?? (takesKey ? crypto.randomUUID() : undefined),
    isRepeatable: operation?.kind === "query",
    signal: options.signal,
  });
  return (body as { data: Result }).data;
}

/** Yield the nodes of the connection that `select` finds in the data. */
export async function* nodes<Result, Variables extends object, Node>(
  transport: Transport,
  document: Document<Result, Variables>,
  variables: Variables,
  select: (data: Result) => Connection<Node> | null | undefined,
  options: ExecutionOptions,
): AsyncGenerator<Node, void, undefined> {
  if (!textOf(document, options.print).includes("$after")) throw new TypeError("the document has no variable $after");
  for (let following = variables; ; ) {
    const connection = select(await execute(transport, document, following, options));
    for (const { node } of connection?.edges ?? []) yield node;
    if (!connection?.page_info.has_next_page) return;
    following = { ...following, after: connection.page_info.end_cursor };
  }
}

/** Return the text of a document. */
export function textOf(document: Document<never, never> | object | string, print: ExecutionOptions["print"]): string {
  if (typeof document === "string" || document instanceof String) return String(document);
  if (print) return print(document as never);
  const body = (document as { loc?: { source?: { body?: string } } }).loc?.source?.body;
  if (body === undefined) throw new TypeError("the document has no source text: pass the option `print`, the function of graphql");
  return body;
}
