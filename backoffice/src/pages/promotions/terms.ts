// Conditions and bonuses as a form has them, which is how the schema takes them, and what of a record they are made from.
import type { OfficeConditionTypesQuery, PromotionOperator } from "../../generated";
import type { Values } from "../../data/values";

export type Type = NonNullable<OfficeConditionTypesQuery["promotion_condition_types"]>[number];
export interface Units {
  product_id: string;
  quantity?: number;
}
export interface Value {
  cents?: number;
  number?: number;
  grams?: number;
  flag?: boolean;
  texts?: string[];
  ids?: string[];
  products?: Units[];
}
export interface Test {
  kind: Type["kind"];
  operator: PromotionOperator;
  value: Value;
  feature_id?: string;
}
export interface Member {
  test?: Test;
  group?: Group;
}
export interface Group {
  match: "all" | "any";
  holds: boolean;
  conditions: Member[];
}
export interface Discount {
  mode: "by_percent" | "to_percent" | "by_cents" | "to_cents";
  value: number;
}
export interface Bonus {
  order_discount?: Discount;
  product_discount?: { discount: Discount; product_ids?: string[]; category_ids?: string[] };
  free_shipping?: { shipping_method_ids?: string[] };
  free_products?: Units[];
  give_points?: number;
  give_coupon?: string;
}

const VALUES = ["cents", "number", "grams", "flag", "texts", "ids", "products"] as const;

const RECORDS: Readonly<Record<string, string>> = {
  categories: "category", users: "user", usergroup: "usergroup", payment: "payment_method", shipping: "shipping_method", destinations: "destination",
};
export const MATCHES = ["all", "any", "none", "not_all"] as const;
type Match = (typeof MATCHES)[number];
export const MATCH: Readonly<Record<Match, Pick<Group, "match" | "holds">>> = {
  any: { match: "any", holds: true }, all: { match: "all", holds: true }, none: { match: "all", holds: false }, not_all: { match: "any", holds: false },
};

// The entity that the IDs of a condition are of.
export function recordsOf(kind: Type["kind"]): string {
  return RECORDS[kind] ?? "product";
}

export function matchOf({ match, holds }: Group): Match {
  return MATCHES.find((each) => MATCH[each].match === match && MATCH[each].holds === holds) ?? "all";
}

export const EMPTY: Group = { match: "all", holds: true, conditions: [] };

export function readConditions(group: Values): Group {
  const members = (group.conditions ?? []) as Values[];
  return { match: group.match as Group["match"], holds: group.holds as boolean, conditions: members.map((each) => (each.match ? { group: readConditions(each) } : { test: readTest(each) })) };
}

function readTest(values: Values): Test {
  const name = VALUES.find((each) => values[each] !== null && values[each] !== undefined) ?? "texts";
  const test = { kind: values.kind, operator: values.operator, value: { [name]: values[name] ?? [] }, ...(values.feature_id ? { feature_id: values.feature_id } : {}) };
  return test as unknown as Test;
}

export function readBonus(values: Values): Bonus {
  const discount = values.discount as Discount;
  const given = (names: readonly string[]) => Object.fromEntries(names.flatMap((name) => (values[name] ? [[name, values[name]]] : [])));
  switch (values.kind as keyof Bonus) {
    case "order_discount":
      return { order_discount: discount };
    case "product_discount":
      return { product_discount: { discount, ...given(["product_ids", "category_ids"]) } };
    case "free_shipping":
      return { free_shipping: { shipping_method_ids: values.shipping_method_ids as string[] } };
    case "free_products":
      return { free_products: values.products as Units[] };
    case "give_points":
      return { give_points: values.points as number };
    default:
      return { give_coupon: values.promotion_id as string };
  }
}
