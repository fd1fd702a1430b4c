// What was typed into the table of combinations, and what is sent of it.
import type { Values } from "../../data/values";
import { readMoney } from "../../format";
import { send } from "../../graphql/client";
import type { Offer } from "./options";

export type Combination = Offer["combinations"][number];
export type Refusals = Readonly<Record<string, Readonly<Record<string, string>>>>;
// As it was typed.
export interface Edit {
  modifier_cents?: string | undefined;
  sku?: string | undefined;
  stock?: string | undefined;
}

// A document takes 50 results under one key, and a batch 500 combinations.
const MOST_AT_ONCE = 40;
const MOST_CREATED = 500;

export const nameOf = ({ choices }: Combination) => choices.map(({ option_name, variant_name }) => `${option_name}: ${variant_name}`).join(", ");

export function isValid({ modifier_cents, stock }: Edit): boolean {
  return (modifier_cents === undefined || !Number.isNaN(readMoney(modifier_cents))) && (stock === undefined || /^\d{1,15}$/.test(stock.trim()));
}

function written({ modifier_cents, sku, stock }: Edit): Values {
  return {
    ...(modifier_cents === undefined ? {} : { modifier_cents: readMoney(modifier_cents) }),
    ...(sku === undefined ? {} : { sku }),
    ...(stock === undefined ? {} : { stock: Number(stock) }),
  };
}

// Saves the rows in few requests; returns the errors of those that were refused, by the names of their fields.
export async function saveCombinations(edits: Readonly<Record<string, Edit>>): Promise<Refusals> {
  const rows = Object.entries(edits);
  const refusals: Record<string, Record<string, string>> = {};
  for (let first = 0; first < rows.length; first += MOST_AT_ONCE) {
    const part = rows.slice(first, first + MOST_AT_ONCE);
    const parameters = part.map((_, index) => `$id${index}: ID!, $input${index}: CombinationInput!`).join(", ");
    const fields = part.map((_, index) => `r${index}: combination_update(id: $id${index}, input: $input${index}) { id }`).join(" ");
    const variables = Object.fromEntries(part.flatMap(([id, edit], index) => [[`id${index}`, id], [`input${index}`, written(edit)]]));
    // With the type's name there is an answer if all of them are refused.
    const { errors } = await send(`mutation Combinations(${parameters}) { __typename ${fields} }`, variables);
    for (const error of errors) {
      const [id] = part[Number(error.root.slice(1))] ?? [""];
      refusals[id] = Object.keys(error.fields).length ? inputNames(error.fields) : { "": error.message };
    }
  }
  return refusals;
}

const inputNames = (fields: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(fields).map(([name, text]) => {
    const input = name.replace(/^input\d*\./, "").replace(/^price_cents$/, "modifier_cents");
    return [["modifier_cents", "sku", "stock"].includes(input) ? input : "", text];
  }));

type Choices = { option_id: string; variant_id: string }[];

// The choices of each combination of the values of all stocked options that isn't there.
export function missingChoices({ options, combinations }: Offer): Choices[] {
  const stocked = options.filter(({ inventory, status, variants }) => inventory && status === "A" && variants.length > 0);
  if (!stocked.length) return [];
  const key = (choices: Choices) => choices.map(({ variant_id }) => variant_id).toSorted().join();
  const present = new Set(combinations.map(({ choices }) => key(choices)));
  const all = stocked.reduce<Choices[]>(
    (found, option) => found.slice(0, 2 * MOST_CREATED).flatMap((choices) => option.variants.map((variant) => [...choices, { option_id: option.id, variant_id: variant.id }])),
    [[]],
  );
  return all.filter((choices) => !present.has(key(choices))).slice(0, MOST_CREATED);
}
