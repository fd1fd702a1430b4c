// The columns of lists, and the sorts that they have.
import { ORDER } from "./order";
import type { Entity, Field } from "./types";

export function sortOf(entity: Entity, field: string): string | undefined {
  const name = field.toUpperCase();
  return [name, name.replace(/_CENTS$/, ""), name.replace(/_ID$/, "")].find((each) => entity.sorts.includes(each));
}

// The columns of a list in their order: those of the table, else the first that show something of each record.
export function columnsOf(entity: Entity): Field[] {
  const named = ORDER[entity.name]?.columns;
  if (named) return named.flatMap((name) => entity.fields.find((field) => field.name === name) ?? []);
  const simple = entity.fields.filter((field) => field.name !== "id" && !["object", "json", "id"].includes(field.kind) && !(field.kind === "record" && field.isList));
  const first = simple.find((field) => field.name === entity.label);
  const others = simple.filter((field) => field !== first && !["created_at", "updated_at", "description"].includes(field.name)).slice(0, 5);
  return [...(first ? [first] : []), ...others, ...simple.filter((field) => field.name === "created_at")];
}
