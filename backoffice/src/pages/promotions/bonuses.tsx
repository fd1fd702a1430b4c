// What a promotion gives, as rows.
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import FormHelperText from "@mui/material/FormHelperText";
import { useInput, useTranslate } from "ra-core";
import { useFormContext, useWatch } from "react-hook-form";
import { ChoiceField, MONEY, NumberField, PERCENT, RecordsField, RemoveButton, UnitsField, Unread, useUnread } from "./inputs";
import type { Bonus, Discount } from "./terms";

const NEW = {
  order_discount: { order_discount: { mode: "by_percent", value: 10_000 } },
  product_discount: { product_discount: { discount: { mode: "by_percent", value: 10_000 } } },
  free_shipping: { free_shipping: {} },
  free_products: { free_products: [{ product_id: "", quantity: 1 }] },
  give_points: { give_points: 10 },
  give_coupon: { give_coupon: "" },
} as const satisfies Record<string, unknown>;
type Kind = keyof typeof NEW;
const KINDS = Object.keys(NEW) as Kind[];
// The one bonus that lowers prices of products themselves.
const OF_CATALOGUE: readonly Kind[] = ["product_discount"];
const MODES: readonly Discount["mode"][] = ["by_percent", "to_percent", "by_cents", "to_cents"];

export default function BonusesInput({ source, label }: { source: string; label: string }) {
  const translate = useTranslate();
  const { field, fieldState } = useInput({ source });
  const zone = useWatch({ name: "input.zone", control: useFormContext().control }) as string | undefined;
  const bonuses = (field.value as Bonus[] | "" | null | undefined) || [];
  const set = (changed: Bonus[]) => void field.onChange(changed);
  const kinds = zone === "catalog" ? OF_CATALOGUE : KINDS;
  const isUnread = useUnread(source);
  const problem = fieldState.error?.message;
  return (
    <Box component="section" aria-label={label} sx={{ display: "grid", gap: 1.25, gridTemplateColumns: "minmax(0, 1fr)" }}>
      <Box sx={{ fontWeight: 600 }}>{label}</Box>
      {isUnread ? <Unread /> : !bonuses.length && <Box sx={{ color: "text.secondary", fontSize: "0.92rem" }}>{translate("promotion.no_bonuses")}</Box>}
      {bonuses.map((bonus, index) => (
        <BonusRow key={index} bonus={bonus} kinds={kinds} onChange={(changed) => set(bonuses.map((each, place) => (place === index ? changed : each)))} onRemove={() => set(bonuses.filter((_, place) => place !== index))} />
      ))}
      <Button size="small" variant="outlined" disabled={isUnread} sx={{ justifySelf: "start" }} onClick={() => set([...bonuses, newBonus(kinds[0] ?? "product_discount")])}>{translate("promotion.add_bonus")}</Button>
      {problem && <FormHelperText error>{problem}</FormHelperText>}
    </Box>
  );
}

const newBonus = (kind: Kind) => NEW[kind] as unknown as Bonus;

function BonusRow({ bonus, kinds, onChange, onRemove }: { bonus: Bonus; kinds: readonly Kind[]; onChange: (bonus: Bonus) => void; onRemove: () => void }) {
  const translate = useTranslate();
  const kind = KINDS.find((each) => each in bonus) ?? "order_discount";
  const name = translate(`promotion.bonus_${kind}`);
  const choices = [...new Set([kind, ...kinds])].map((id) => ({ id, name: translate(`promotion.bonus_${id}`) }));
  return (
    <Box role="group" aria-label={name} sx={{ display: "grid", gap: 1, alignItems: "start", gridTemplateColumns: { xs: "minmax(0, 1fr)", md: "minmax(0, 4fr) minmax(0, 8fr) auto" } }}>
      <ChoiceField label={translate("promotion.bonus")} value={kind} choices={choices} onChange={(next) => onChange(newBonus(next))} />
      <Box sx={{ display: "grid", gap: 1, gridTemplateColumns: "minmax(0, 1fr)" }}><BonusFields bonus={bonus} onChange={onChange} /></Box>
      <RemoveButton label={name} onClick={onRemove} />
    </Box>
  );
}

function BonusFields({ bonus, onChange }: { bonus: Bonus; onChange: (bonus: Bonus) => void }) {
  const translate = useTranslate();
  const { order_discount: ofOrder, product_discount: ofProducts, free_shipping: shipping } = bonus;
  if (ofOrder) return <DiscountFields discount={ofOrder} onChange={(changed) => onChange({ order_discount: changed })} />;
  if (ofProducts) {
    const set = (changed: Partial<typeof ofProducts>) => onChange({ product_discount: { ...ofProducts, ...changed } });
    // Without records it isn't limited to any.
    const limit = (name: "product_ids" | "category_ids", ids: string[]) => {
      const { [name]: _, ...others } = ofProducts;
      onChange({ product_discount: ids.length ? { ...others, [name]: ids } : others });
    };
    return (
      <>
        <DiscountFields discount={ofProducts.discount} onChange={(discount) => set({ discount })} />
        <RecordsField entity="product" label={translate("promotion.only_products")} value={ofProducts.product_ids ?? []} onChange={(ids) => limit("product_ids", ids)} />
        <RecordsField entity="category" label={translate("promotion.only_categories")} value={ofProducts.category_ids ?? []} onChange={(ids) => limit("category_ids", ids)} />
      </>
    );
  }
  if (shipping) return <RecordsField entity="shipping_method" label={translate("promotion.only_methods")} value={shipping.shipping_method_ids ?? []} onChange={(ids) => onChange({ free_shipping: { shipping_method_ids: ids } })} />;
  if (bonus.free_products) return <UnitsField value={bonus.free_products} onChange={(products) => onChange({ free_products: products })} />;
  if (typeof bonus.give_points === "number") return <NumberField label={translate("promotion.points")} value={bonus.give_points} onChange={(points) => onChange({ give_points: points })} />;
  return <RecordsField entity="promotion" label={translate("promotion.coupon_of")} isSingle value={bonus.give_coupon ? [bonus.give_coupon] : []} onChange={([id = ""]) => onChange({ give_coupon: id })} />;
}

function DiscountFields({ discount, onChange }: { discount: Discount; onChange: (discount: Discount) => void }) {
  const translate = useTranslate();
  const isPercent = discount.mode.endsWith("percent");
  return (
    <Box sx={{ display: "grid", gap: 1, gridTemplateColumns: "minmax(0, 3fr) minmax(0, 2fr)" }}>
      <ChoiceField label={translate("promotion.mode")} value={discount.mode} choices={MODES.map((id) => ({ id, name: translate(`promotion.mode_${id}`) }))} onChange={(mode) => onChange({ mode, value: mode.endsWith("percent") === isPercent ? discount.value : 0 })} />
      <NumberField label={translate(isPercent ? "promotion.percent" : "promotion.amount")} value={discount.value} scale={isPercent ? PERCENT : MONEY} onChange={(value) => onChange({ ...discount, value })} />
    </Box>
  );
}
