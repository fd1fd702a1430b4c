// The inputs of a list's filters. Those of the table of fields are always shown, the others by choice; on a phone, where they would fill the
// first page, the first two.
import type { ReactElement } from "react";
import { ORDER } from "../entities/order";
import type { Entity } from "../entities/types";
import { fieldName } from "../texts";
import { FieldInput } from "./input";

const HIDDEN = new Set(["id"]);

export function filterInputs(entity: Entity, isNarrow = false): ReactElement[] {
  const shown = (ORDER[entity.name]?.filters ?? ["search", "status"]).slice(0, isNarrow ? 2 : undefined);
  const order = (name: string) => (shown.includes(name) ? shown.indexOf(name) : shown.length);
  return entity.filters
    .filter((field) => !HIDDEN.has(field.name) && field.kind !== "object" && field.kind !== "json")
    .toSorted((one, other) => order(one.name) - order(other.name))
    .map((field) => <FieldInput key={field.name} label={fieldName(field.name)} field={{ ...field, isList: false, isRequired: false }} source={field.name} isFilter {...(shown.includes(field.name) ? { alwaysOn: true } : {})} />);
}
