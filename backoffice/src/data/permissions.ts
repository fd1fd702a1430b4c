// What the user may do, as the server says it by the rules of the schema (`permissions`).
import type { SessionQuery } from "../generated";

type Session = NonNullable<SessionQuery["permissions"]>;

let permissions: { queries: Set<string>; mutations: Set<string>; refused: Set<string> } = none();

function none() {
  return { queries: new Set<string>(), mutations: new Set<string>(), refused: new Set<string>() };
}

export function setPermissions(session: Session | null): void {
  permissions = session
    ? { queries: new Set(session.queries), mutations: new Set(session.mutations), refused: new Set(session.refused_fields) }
    : none();
}

export function mayRead(query: string): boolean {
  return permissions.queries.has(query);
}

export function mayDo(mutation: string): boolean {
  return permissions.mutations.has(mutation);
}

export function isRefused(type: string, field: string): boolean {
  return permissions.refused.has(`${type}.${field}`);
}

// The entities whose lists the user may open.
export function listedEntities(): string[] {
  return [...permissions.queries].flatMap((name) => (name.endsWith("_page") && permissions.queries.has(name.slice(0, -5)) ? [name.slice(0, -5)] : []));
}

const QUERY_OF = { list: "_page", show: "" } as const;

export function mayAct(action: string, entity: string): boolean {
  if (action === "list" || action === "show") return mayRead(`${entity}${QUERY_OF[action]}`);
  if (action === "export") return false;
  return mayDo(`${entity}_${action === "edit" ? "update" : action}`);
}
