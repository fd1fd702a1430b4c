// A bulk query of all records of a list, and its result as CSV: the fields that an import takes, then the columns of the list.
import { unparse } from "papaparse";
import { filterValues } from "../data/provider";
import { columnsOf, sortOf } from "../entities/columns";
import { formSelection, formValues, selection, type Values } from "../data/values";
import type { Entity, Field } from "../entities/types";
import { OfficeBulkQueryDocument } from "../generated";
import { execute } from "../graphql/client";
import { locale } from "../texts";
import { columnName, columnsOfFile, toCell } from "./cells";
import { readLines } from "./files";

interface Listed {
  filter: Values;
  sort: { field: string; order: string };
  total: number;
}

// The name of the operation says how many records there are, wherever it is looked at.
export async function startExport(entity: Entity, { filter, sort, total }: Listed): Promise<string> {
  const conditions = Object.entries(filterValues(entity, filter)).map(([name, value]) => `${name}: ${literal(entity.filters.find((field) => field.name === name), value)}`);
  const sorted = sortOf(entity, sort.field);
  const passed = [conditions.length && `filter: { ${conditions.join(", ")} }`, sorted && `sort: ${sorted}_${sort.order}`].filter(Boolean).join(", ");
  const query = `query Export_${total} { ${entity.name}_connection${passed ? `(${passed})` : ""} { edges { node { id ${formSelection(entity, written(entity))} ${selection(infoOf(entity))} } } } }`;
  return (await execute(OfficeBulkQueryDocument, { query })).bulk_query_create.id;
}

function literal(field: Field | undefined, value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((each) => literal(field, each)).join(", ")}]`;
  return field?.kind === "enum" ? String(value) : JSON.stringify(value);
}

const written = (entity: Entity) => columnsOfFile(entity.update?.fields ?? []).filter((field) => field.from);
// What is shown only: an import ignores it.
const infoOf = (entity: Entity) => columnsOf(entity).filter((field) => field.kind !== "object" && !written(entity).some((each) => each.name === field.name));

export async function toCsv(entity: Entity, path: string): Promise<Blob> {
  const fields = written(entity);
  const info = infoOf(entity);
  const delimiter = locale() === "pt-BR" ? ";" : ",";
  const format = (rows: string[][]) => `${unparse(rows, { delimiter })}\r\n`;
  // Spreadsheets recognize UTF-8 by its byte order mark.
  const parts = ["\ufeff", format([["id", ...fields.map(columnName), ...info.map((field) => `(${columnName(field)})`)]])];
  for await (const line of readLines(path)) {
    const record = JSON.parse(line) as Values;
    const values = formValues(fields, record);
    parts.push(format([[String(record.id), ...fields.map((field) => toCell(field, values[field.name])), ...info.map((field) => toCell(field, record[field.name]))]]));
  }
  return new Blob(parts, { type: "text/csv;charset=utf-8" });
}
