// Errors of the server, as clients of /graphql see them (docs/reference/graphql.md#errors).
import { fieldName } from "../texts";
import { errorText } from "../texts/errors";

export interface GraphQLErrorBody {
  message: string;
  path?: (string | number)[];
  extensions?: { code?: string; field?: string; details?: Record<string, unknown> };
}

export class ServerError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly status: number,
    readonly fields: Readonly<Record<string, string>> = {},
    readonly details: Readonly<Record<string, unknown>> = {},
    // The response key of the root field that was refused, where several were asked for.
    readonly root = "",
  ) {
    super(message);
  }
}

// An answer that isn't one of GraphQL: of a step before it, or of a proxy.
const OF_STATUS: Record<number, string> = { 401: "UNAUTHENTICATED", 403: "FORBIDDEN", 413: "too_large", 429: "RATE_LIMITED", 502: "UNAVAILABLE", 503: "UNAVAILABLE", 504: "UNAVAILABLE" };

export function statusError(status: number, message = "", reason = ""): ServerError {
  const code = OF_STATUS[status] ?? "INTERNAL";
  return new ServerError(code, errorText(reason, errorText(code, message)), status);
}

// Throws what a person reads where the server doesn't answer.
export async function reach(path: string, request: RequestInit = {}): Promise<Response> {
  try {
    return await fetch(path, request);
  } catch {
    throw toServerError({ message: "", extensions: { code: "UNREACHABLE" } });
  }
}

// With the errors of fields, where no input shows them.
export function wholeText(error: unknown): string {
  if (!(error instanceof ServerError)) return error instanceof Error ? error.message : String(error);
  const fields = Object.entries(error.fields).map(([path, text]) => `${fieldName(path.replace(/\[\d+\]/g, "").split(".").at(-1) ?? path)}: ${text}.`);
  return [error.message, ...fields].join(" ");
}

const STATUS: Record<string, number> = { UNAUTHENTICATED: 401, FORBIDDEN: 403, NOT_FOUND: 404, CONFLICT: 409, RATE_LIMITED: 429 };

export function toServerError(body: GraphQLErrorBody): ServerError {
  const { code = "INTERNAL", field, details = {} } = body.extensions ?? {};
  const listed = details.fields;
  const fields = isTexts(listed) ? listed : field ? { [field]: body.message } : {};
  const reason = typeof details.reason === "string" ? details.reason : "";
  const message = errorText(reason || code, body.message);
  const texts = Object.fromEntries(Object.entries(fields).map(([name, text]) => [name, errorText(text, text)]));
  return new ServerError(code, message, STATUS[code] ?? 422, texts, details, String(body.path?.[0] ?? ""));
}

function isTexts(value: unknown): value is Record<string, string> {
  return typeof value === "object" && value !== null && Object.values(value).every((each) => typeof each === "string");
}
