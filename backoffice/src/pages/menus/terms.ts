// The items of a menu as a form has them, which is how the schema takes them.
import type { Values } from "../../data/values";

export const TARGETS = ["category", "collection", "page", "product", "vendor"] as const;
export type Entity = (typeof TARGETS)[number];
export type Target = Partial<Record<`${Entity}_id` | "link", string>>;
export interface Item {
  name: string;
  target?: Target;
  items?: Item[];
}

export function readItem(item: Values): Item {
  const target = targetOf(item);
  const items = ((item.items as Values[] | undefined) ?? []).map(readItem);
  return { name: item.name as string, ...(target ? { target } : {}), ...(items.length ? { items } : {}) };
}

function targetOf(item: Values): Target | undefined {
  if (typeof item.link === "string") return { link: item.link };
  const entity = TARGETS.find((each) => item[each]);
  return entity && { [`${entity}_id`]: (item[entity] as { id: string }).id };
}
