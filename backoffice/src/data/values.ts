// What is read of a record, the values of its form, and what the form has changed.
import type { Entity, Field } from "../entities/types";
import { readMoney } from "../format";
import { readItem } from "../pages/menus/terms";
import { readBonus, readConditions } from "../pages/promotions/terms";
import { isRefused } from "./permissions";

export type Values = Record<string, unknown>;

export function selection(fields: readonly Field[]): string {
  return fields.filter((field) => !field.of || !isRefused(field.of, field.name)).map(selected).join(" ");
}

function selected(field: Field): string {
  if (field.kind === "record") return `${field.name} { id ${field.label ?? ""} }`;
  if (field.kind === "object") return `${field.name} { ${selection(field.members ?? [])} }`;
  return field.name;
}

// What a form reads: the value of each field of its input, wherever the record has it.
export function formSelection(entity: Entity, fields = entity.update?.fields ?? []): string {
  return fields.filter((field) => field.from && !isRefused(entity.type, stem(field.from))).map(formField).join(" ");
}

const stem = (path: string) => path.split(".")[0] ?? path;

function formField(field: Field): string {
  const [name = "", id] = (field.from ?? "").split(".");
  if (id) return `${name} { ${id} }`;
  if (field.selection) return `${name} { ${field.selection} }`;
  if (field.kind !== "object") return name;
  return `${name} { ${(field.members ?? []).filter((member) => member.from).map(formField).join(" ")} }`;
}

export function formValues(fields: readonly Field[], record: Values): Values {
  const values = fields.filter((field) => field.from).map((field) => [field.name, formValue(field, record)] as const);
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}

function formValue(field: Field, record: Values): unknown {
  const [name = "", id] = (field.from ?? "").split(".");
  const value = record[name];
  if (value === null || value === undefined) return value;
  const convert = (each: unknown): unknown =>
    field.kind === "conditions" ? readConditions(each as Values) : field.kind === "bonuses" ? readBonus(each as Values) : field.kind === "menu_items" ? readItem(each as Values) :
    id ? (each as Values)[id] : field.kind === "object" ? formValues(field.members ?? [], each as Values) : each;
  return Array.isArray(value) ? value.map(convert) : convert(value);
}

// The fields of a form whose value differs from the record's; what is left out stays as it is.
export function changedValues(values: Values, previous: Values): Values {
  return Object.fromEntries(Object.entries(values).filter(([name, value]) => !isSame(value, previous[name])));
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one ?? null) === JSON.stringify(other ?? null);
}

// An empty text of a new record, or of a part of it, is one that was not entered.
export function enteredValues(values: Values, fields: readonly Field[] = []): Values {
  const entered = (name: string, value: unknown): unknown => {
    const field = fields.find((each) => each.name === name);
    if (field?.kind !== "object" || !isObject(value)) return value;
    const part = (each: unknown) => (isObject(each) ? enteredValues(each, field.members ?? []) : each);
    if (Array.isArray(value)) return value.map(part);
    const whole = part(value);
    return isObject(whole) && Object.keys(whole).length ? whole : null;
  };
  const all = Object.entries(values).map(([name, value]) => [name, entered(name, value)] as const);
  return Object.fromEntries(all.filter(([, value]) => value !== undefined && value !== null && value !== ""));
}

// The paths of the fields that the schema requires and that were not entered.
export function missingFields(fields: readonly Field[], values: Values, path = ""): string[] {
  return fields.flatMap(({ name, isRequired, isList, members = [] }) => {
    const value = values[name] ?? null;
    if (value === null) return isRequired ? [path + name] : [];
    const parts = [value].flat();
    return parts.flatMap((part, index) => (isObject(part) ? missingFields(members, part, `${path}${name}${isList ? `[${index}]` : ""}.`) : []));
  });
}

// What was typed, as the schema takes it: amounts in cents, JSON as a value.
export function typedValues(fields: readonly Field[], values: Values): Values {
  const typed = (name: string, value: unknown) => {
    const field = fields.find((each) => each.name === name);
    return field ? typedValue(field, value) : value;
  };
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, typed(name, value)]));
}

function typedValue(field: Field, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((each: unknown) => typedValue(field, each));
  if (field.kind === "object") return isObject(value) ? typedValues(field.members ?? [], value) : value;
  if (typeof value !== "string") return value;
  if (field.kind === "integer" || field.kind === "number") return value === "" ? null : field.isList ? parsed(value) : readMoney(value);
  return field.kind === "json" ? parsed(value) : value;
}

function isObject(value: unknown): value is Values {
  return typeof value === "object" && value !== null;
}

function parsed(text: string): unknown {
  try {
    return text.trim() ? JSON.parse(text) : null;
  } catch {
    return text;
  }
}
