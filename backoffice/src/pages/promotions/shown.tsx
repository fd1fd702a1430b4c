// Conditions and bonuses of a promotion as text.
import Box from "@mui/material/Box";
import { useTranslate } from "ra-core";
import type { ReactNode } from "react";
import { Names } from "../../derived/names";
import { useDescriptions } from "../../entities/load";
import { money, number } from "../../format";
import { memberName } from "../../texts";
import { PERCENT } from "./inputs";
import { type Bonus, type Discount, type Group, matchOf, recordsOf, type Test, type Units } from "./terms";

const LIST = { m: 0, pl: 2 } as const;

export function Conditions({ group }: { group: Group }) {
  const translate = useTranslate();
  if (!group.conditions.length) return translate("promotion.no_conditions");
  return (
    <>
      {translate(`promotion.match_${matchOf(group)}`)}:
      <Box component="ul" sx={LIST}>
        {group.conditions.map((each, index) => <li key={index}>{each.group ? <Conditions group={each.group} /> : each.test && <Condition test={each.test} />}</li>)}
      </Box>
    </>
  );
}

function Condition({ test }: { test: Test }) {
  const translate = useTranslate();
  const operator = useDescriptions().enums.PromotionOperator?.find(({ id }) => id === test.operator);
  return (
    <>
      {translate(`promotion.kind_${test.kind}`)} {test.feature_id && <Names entity="feature" ids={[test.feature_id]} />} {operator ? memberName(operator.name) : test.operator} <TestValue test={test} />
    </>
  );
}

function TestValue({ test: { kind, value } }: { test: Test }): ReactNode {
  const translate = useTranslate();
  if (value.products) return <UnitsOf units={value.products} />;
  if (value.ids) return <Names entity={recordsOf(kind)} ids={value.ids} />;
  if (value.texts) return value.texts.join(", ");
  if (typeof value.flag === "boolean") return translate(value.flag ? "promotion.yes" : "promotion.no");
  if (typeof value.cents === "number") return money(value.cents);
  return typeof value.grams === "number" ? `${number(value.grams)} g` : number(value.number ?? 0);
}

function UnitsOf({ units }: { units: readonly Units[] }) {
  return units.map(({ product_id, quantity }, index) => <div key={index}>{number(quantity ?? 1)} × <Names entity="product" ids={[product_id]} /></div>);
}

export function Bonuses({ bonuses }: { bonuses: readonly Bonus[] }) {
  const translate = useTranslate();
  if (!bonuses.length) return translate("promotion.no_bonuses");
  return (
    <Box component="ul" sx={LIST}>
      {bonuses.map((bonus, index) => <li key={index}>{translate(`promotion.bonus_${Object.keys(bonus)[0] ?? ""}`)} <Given bonus={bonus} /></li>)}
    </Box>
  );
}

function Given({ bonus: { order_discount, product_discount, free_shipping, free_products, give_points, give_coupon } }: { bonus: Bonus }) {
  const translate = useTranslate();
  const discount = order_discount ?? product_discount?.discount;
  const limits = [
    ["promotion.only_products", "product", product_discount?.product_ids], ["promotion.only_categories", "category", product_discount?.category_ids],
    ["promotion.kind_shipping", "shipping_method", free_shipping?.shipping_method_ids],
  ] as const;
  return (
    <>
      {discount && <DiscountOf discount={discount} />}
      {limits.map(([label, entity, ids]) => ids && ids.length > 0 && <div key={entity}>{translate(label)}: <Names entity={entity} ids={ids} /></div>)}
      {free_products && <UnitsOf units={free_products} />}
      {give_points !== undefined && number(give_points)}
      {give_coupon && <Names entity="promotion" ids={[give_coupon]} />}
    </>
  );
}

function DiscountOf({ discount: { mode, value } }: { discount: Discount }) {
  return <div>{useTranslate()(`promotion.mode_${mode}`)}: {mode.endsWith("percent") ? `${PERCENT.write(value)} %` : money(value)}</div>;
}
