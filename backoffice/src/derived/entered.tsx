// What a form has for a field, as text: of a record it is the ID, of an object the values of its members.
import { lazy, type ReactNode, Suspense } from "react";
import type { Values } from "../data/values";
import type { Field } from "../entities/types";
import type { Item } from "../pages/menus/terms";
import type { Bonus, Group } from "../pages/promotions/terms";
import { fieldName } from "../texts";
import { Names } from "./names";
import { Pairs, Value } from "./value";

const Conditions = lazy(async () => ({ default: (await import("../pages/promotions/shown")).Conditions }));
const Bonuses = lazy(async () => ({ default: (await import("../pages/promotions/shown")).Bonuses }));
const Items = lazy(() => import("../pages/menus/shown"));

export function Entered({ field, value }: { field: Field; value: unknown }): ReactNode {
  if (value === null || value === undefined || value === "") return null;
  switch (field.kind) {
    case "record":
      return <Names entity={field.entity ?? ""} ids={[value].flat() as string[]} />;
    case "object":
      return [value].flat().map((part, index) => <Parts key={index} fields={field.members ?? []} values={part as Values} />);
    case "conditions":
      return <Suspense><Conditions group={value as Group} /></Suspense>;
    case "bonuses":
      return <Suspense><Bonuses bonuses={value as Bonus[]} /></Suspense>;
    case "menu_items":
      return <Suspense><Items items={value as Item[]} /></Suspense>;
    default:
      return <Value field={field} value={value} />;
  }
}

function Parts({ fields, values }: { fields: readonly Field[]; values: Values }) {
  const shown = fields.filter(({ name, kind }) => kind !== "id" && values[name] !== null && values[name] !== undefined && values[name] !== "");
  return <Pairs pairs={shown.map((field) => [fieldName(field.name), <Entered key={field.name} field={field} value={values[field.name]} />])} />;
}
