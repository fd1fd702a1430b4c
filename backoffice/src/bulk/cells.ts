// The values of a record as cells of a CSV file, and back. Amounts are decimal, several values are separated by `|`, which in a value is `\|`
// (and `\` is `\\`), objects are JSON; a spreadsheet of the user's language reads and writes the numbers.
import type { Values } from "../data/values";
import type { Choice, Field, Kind } from "../entities/types";
import { decimal, readMoney } from "../format";
import { memberName } from "../texts";

export class CellError extends Error {}

const SEPARATOR = "|";
const YES = ["1", "true", "sim", "s", "yes", "y"];
const NO = ["0", "false", "não", "nao", "n", "no"];
// A spreadsheet takes a text that begins so for a formula, without an apostrophe before it; one that the text has itself gets another.
const FORMULA = /^'*[=+\-@\t\r]/;
const QUOTED = /^'+[=+\-@\t\r]/;

const IS_JSON: ReadonlySet<Kind> = new Set(["object", "json", "menu_items"]);
const isMoney = (field: Field) => field.name.endsWith("_cents");
const isNumber = (field: Field) => field.kind === "integer" || field.kind === "number";

// What has an editor of its own is JSON in a file.
export function columnsOfFile(fields: readonly Field[]): Field[] {
  return fields.map(({ json: name, ...field }) => (name ? { name, kind: "json", from: name } : field));
}

export function columnName(field: Field): string {
  return field.name.replace(/_cents$/, "");
}

export function toCell(field: Field, value: unknown): string {
  if (value === null || value === undefined) return "";
  if (IS_JSON.has(field.kind)) return JSON.stringify(value);
  if (Array.isArray(value)) return value.map((each) => escaped(toCell({ ...field, isList: false }, each))).join(SEPARATOR);
  if (isMoney(field)) return decimal((Number(value) / 100).toFixed(2));
  if (isNumber(field)) return decimal(String(value));
  if (typeof value === "boolean") return value ? "1" : "0";
  // A related record that is shown only.
  if (typeof value === "object") return toText(String((value as Values)[field.label ?? "id"] ?? ""));
  return toText(String(value));
}

const escaped = (text: string) => text.replace(/[\\|]/g, "\\$&");
const toText = (text: string) => (FORMULA.test(text) ? `'${text}` : text);

// Undefined for an empty cell, which leaves the value as it is.
export function fromCell(field: Field, cell: string, choices: readonly Choice[] = []): unknown {
  const text = cell.trim();
  if (!text) return undefined;
  if (IS_JSON.has(field.kind)) return json(text);
  if (field.isList) return values(text).map((each) => fromCell({ ...field, isList: false }, each, choices)).filter((each) => each !== undefined);
  if (isMoney(field)) return checked(readMoney(text), "import.amount");
  if (isNumber(field)) return checked(field.kind === "integer" && !/^-?\d+$/.test(text) ? Number.NaN : Number(text.replace(",", ".")), "import.number");
  if (field.kind === "boolean") return flag(text);
  if (field.kind === "enum") return member(text, choices);
  const whole = field.kind === "text" ? cell : text;
  return QUOTED.test(whole) ? whole.slice(1) : whole;
}

// A backslash before another character is one of the value.
const values = (text: string) => [...text.matchAll(/((?:\\[\\|]|[^|])*)(?:\||$)/g)].map(([, value = ""]) => value.replace(/\\([\\|])/g, "$1"));

function checked(value: number, problem: string): number {
  if (Number.isNaN(value)) throw new CellError(problem);
  return value;
}

function flag(text: string): boolean {
  const lower = text.toLowerCase();
  if (YES.includes(lower)) return true;
  if (NO.includes(lower)) return false;
  throw new CellError("import.flag");
}

function member(text: string, choices: readonly Choice[]): string {
  const found = choices.find(({ id, name }) => [id, name, memberName(name)].some((each) => each.toLowerCase() === text.toLowerCase()));
  if (!found) throw new CellError("import.choice");
  return found.id;
}

function json(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new CellError("import.json", { cause: error });
  }
}
