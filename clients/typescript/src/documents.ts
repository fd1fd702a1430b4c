// Read of a GraphQL document what decides whether it may be sent again: its operations and their root fields.
import { UNKEYED_MUTATIONS } from "./generated/requests.js";

const TOKEN = /"""(?:\\"""|[^])*?"""|"(?:\\.|[^"\\\n])*"|#[^\n\r]*|\.\.\.|[_A-Za-z][_A-Za-z0-9]*|[{}()[\]:@]/g;
const KEYWORDS = new Set(["query", "mutation", "subscription", "fragment"]);

export interface Operation {
  readonly kind: string;
  name: string;
  readonly fields: string[];
  /** False where a `...` at the root may stand for any fields. */
  known: boolean;
}

/** Return the operation that the server would execute, undefined if there is none of this name. */
export function findOperation(document: string, name?: string): Operation | undefined {
  return definitions(document).find((operation) => operation.kind !== "fragment" && (name === undefined || operation.name === name));
}

/** Return whether the server executes the operation once for each Idempotency-Key. */
export function takesIdempotencyKey({ kind, known, fields: [field, ...others] }: Operation): boolean {
  return kind === "mutation" && known && field !== undefined && others.length === 0 && !UNKEYED_MUTATIONS.has(field);
}

function definitions(document: string): Operation[] {
  const tokens = (document.match(TOKEN) ?? []).filter((token) => !/^["#]/.test(token));
  const found: Operation[] = [];
  let [braces, brackets, begun] = [0, 0, false];
  const begin = (kind: string) => found.push({ kind, name: "", fields: [], known: true });
  tokens.forEach((token, index) => {
    const previous = tokens[index - 1] ?? "";
    const last = found.at(-1);
    if ("([".includes(token)) brackets++;
    else if (")]".includes(token)) brackets--;
    else if (brackets > 0) return;
    else if (token === "{") {
      if (braces === 0 && !begun) begin("query");
      begun = false;
      braces++;
    } else if (token === "}") braces--;
    else if (previous === "@") return;
    else if (braces === 0) {
      // The keyword, then the name of the operation.
      if (!begun && KEYWORDS.has(token)) {
        begin(token);
        begun = true;
      } else if (last !== undefined && KEYWORDS.has(previous) && last.name === "") last.name = token;
    } else if (braces === 1 && last !== undefined) {
      if (token === "...") last.known = false;
      else if (token !== ":" && token !== "@" && tokens[index + 1] !== ":" && previous !== "...") last.fields.push(token);
    }
  });
  return found;
}
