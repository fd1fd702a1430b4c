// A CSV file as the lines of a bulk mutation. A row that can't be read is an empty line, so that the numbers of results are those of rows.
import { parse } from "papaparse";
import { mayDo } from "../data/permissions";
import { put } from "../data/uploads";
import type { Values } from "../data/values";
import type { Descriptions, Entity, Field } from "../entities/types";
import { OfficeBulkMutationDocument, OfficeBulkUploadDocument } from "../generated";
import { execute } from "../graphql/client";
import { fieldName } from "../texts";
import { CellError, columnName, columnsOfFile, fromCell } from "./cells";
import { ownPath } from "./files";

export interface RowProblem {
  row: number;
  column: string;
  problem: string;
}

export interface Sheet {
  // Whether rows change records, or are new ones; of some entities each row is either.
  kind: "update" | "create" | "upsert";
  columns: readonly Field[];
  ignored: readonly string[];
  rows: number;
  lines: readonly string[];
  problems: readonly RowProblem[];
}

const ID: Field = { name: "id", kind: "id" };
// Mutations that find a record by its ID or by another key, else create it.
const UPSERTS: Readonly<Record<string, string>> = { product: "product_bulk_upsert" };

export function canImport(entity: Entity): boolean {
  return mayDo("bulk_mutation_create") && (mayDo(UPSERTS[entity.name] ?? "") || (!!entity.update && mayDo(`${entity.name}_update`)) || (!!entity.create && mayDo(`${entity.name}_create`)));
}

// Throws an error whose message is the key of a text.
export async function readSheet(file: File, entity: Entity, { enums }: Descriptions): Promise<Sheet> {
  const text = await textOf(file);
  const { data, meta } = parse<Record<string, string>>(text, { header: true, delimiter: delimiterOf(text) });
  const headers = (meta.fields ?? []).map((header) => header.trim());
  const hasIds = headers.includes(ID.name) && data.some((row) => row[ID.name]?.trim());
  const kind = UPSERTS[entity.name] && mayDo(UPSERTS[entity.name] ?? "") ? "upsert" : hasIds ? "update" : "create";
  const fields = [ID, ...columnsOfFile((kind === "create" ? entity.create : entity.update)?.fields ?? [])];
  const columns = (meta.fields ?? []).map((header) => fields.find((field) => [field.name, columnName(field), fieldName(field.name)].includes(header.trim())));
  if (!columns.some((field) => field && field !== ID)) throw new Error("import.no_columns");
  const problems: RowProblem[] = [];
  const lines = data.map((row, index) => {
    // Papa Parse gives a row for the line break at the end.
    if (Object.values(row).every((cell) => !String(cell).trim())) return "";
    const before = problems.length;
    const values: Values = {};
    columns.forEach((field, position) => {
      const header = meta.fields?.[position] ?? "";
      try {
        const value = field && fromCell(field, row[header] ?? "", field.enum ? enums[field.enum] : []);
        if (field && value !== undefined) values[field.name] = value;
      } catch (error) {
        if (!(error instanceof CellError)) throw error;
        problems.push({ row: index + 2, column: header, problem: error.message });
      }
    });
    if (kind === "update" && !values.id) problems.push({ row: index + 2, column: ID.name, problem: "import.no_id" });
    return problems.length > before ? "" : JSON.stringify(variables(kind, values));
  });
  const ignored = headers.filter((header, position) => header && !columns[position] && !header.startsWith("("));
  return { kind, columns: columns.filter((field) => field !== undefined), ignored, rows: lines.filter(Boolean).length, lines, problems };
}

// Spreadsheets save CSV as UTF-8, or in the encoding of Windows.
async function textOf(file: File): Promise<string> {
  const bytes = await file.arrayBuffer();
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}

// That of the names of the columns: texts in the rows may have any of them.
function delimiterOf(text: string): string {
  const [names = ""] = text.slice(0, 65_536).split("\n");
  const count = (delimiter: string) => names.split(delimiter).length;
  return [",", ";", "\t"].reduce((best, each) => (count(each) > count(best) ? each : best));
}

function variables(kind: Sheet["kind"], { id, ...input }: Values): Values {
  if (kind === "upsert") return { row: { ...(id ? { id } : {}), ...input } };
  return kind === "update" ? { id, input } : { input };
}

function mutation(entity: Entity, { kind, rows }: Sheet): string {
  const name = `Import_${rows}`;
  if (kind === "upsert") return `mutation ${name}($row: ${entity.type}UpsertInput!) { ${UPSERTS[entity.name] ?? ""}(rows: [$row]) { id error { code message fields { field code } } } }`;
  if (kind === "create") return `mutation ${name}($input: ${entity.create?.type ?? ""}!) { ${entity.name}_create(input: $input) { id } }`;
  return `mutation ${name}($id: ${entity.idType}, $input: ${entity.update?.type ?? ""}!) { ${entity.name}_update(id: $id, input: $input) { id } }`;
}

// Returns the ID of the bulk operation, which goes on without the page. Throws an error whose message is the key of a text, or the server's.
export async function startImport(entity: Entity, sheet: Sheet, isAllOrNothing: boolean, onProgress: (share: number) => void): Promise<string> {
  const { bulk_upload_create: upload } = await execute(OfficeBulkUploadDocument);
  const path = ownPath(upload.url);
  if (!path) throw new Error("import.elsewhere");
  const content = new Blob(sheet.lines.map((line) => `${line}\n`));
  if (content.size > upload.max_bytes) throw new Error("import.too_large");
  await put(path, {}, content, onProgress);
  const { bulk_mutation_create: operation } = await execute(OfficeBulkMutationDocument, { mutation: mutation(entity, sheet), upload: upload.id, all_or_nothing: isAllOrNothing });
  return operation.id;
}
