// Which variants of a product's options can be chosen (docs/building-a-storefront.md#product-page).

import type { ProductPageQuery } from "./generated";

export type Product = NonNullable<ProductPageQuery["product"]>;
export type Option = Product["options"][number];
export type Combination = Product["combinations"][number];

/** Option id to variant id, or to text for options that are typed. */
export type Choice = Readonly<Record<string, string>>;

const fits = (combination: Combination, choice: Choice, except = "") =>
  combination.choices.every(({ option_id, variant_id }) => {
    const chosen = choice[option_id];
    return option_id === except || chosen === undefined || chosen === variant_id;
  });

/** Return the choices of the first combination that can be bought. */
export function firstChoice(product: Product): Choice {
  const combination = product.combinations.find(({ is_available }) => is_available) ?? product.combinations[0];
  return Object.fromEntries(combination?.choices.map(({ option_id, variant_id }) => [option_id, variant_id]) ?? []);
}

/** Return the combination that all its options are chosen for. */
export function combinationOf(product: Product, choice: Choice): Combination | undefined {
  return product.combinations.find((each) => each.choices.every(({ option_id, variant_id }) => choice[option_id] === variant_id));
}

/** Return whether a combination with this variant, and the choices of the other options, can be bought. */
export function isOffered(product: Product, choice: Choice, optionId: string, variantId: string): boolean {
  const concerned = product.combinations.filter(({ choices }) => choices.some(({ option_id }) => option_id === optionId));
  return (
    concerned.length === 0 ||
    concerned.some((each) => each.is_available && fits(each, { ...choice, [optionId]: variantId }))
  );
}

/** Choose a variant; when no combination has it with the other choices, choose those of one that has it. */
export function withVariant(product: Product, choice: Choice, optionId: string, variantId: string): Choice {
  const wanted = { ...choice, [optionId]: variantId };
  if (product.combinations.length === 0 || combinationOf(product, wanted)?.is_available) return wanted;
  const isWanted = (each: Combination) => fits(each, { [optionId]: variantId });
  const other = product.combinations.find((each) => each.is_available && isWanted(each)) ?? product.combinations.find(isWanted);
  return { ...wanted, ...Object.fromEntries(other?.choices.map(({ option_id, variant_id }) => [option_id, variant_id]) ?? []) };
}
