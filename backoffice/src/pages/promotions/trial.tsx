// What an order would cost now, with the promotions that apply to it.
import Alert from "@mui/material/Alert";
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import TextField from "@mui/material/TextField";
import { useTranslate } from "ra-core";
import { useState } from "react";
import { mayRead } from "../../data/permissions";
import { money, number } from "../../format";
import { OfficeTrialDocument, type OfficeTrialQuery } from "../../generated";
import { execute } from "../../graphql/client";
import { Facts, Section } from "../orders/parts";
import { RecordsField, UnitsField } from "./inputs";
import type { Units } from "./terms";

type Preview = NonNullable<OfficeTrialQuery["order_preview"]>;

const CHOICES = [["customer_id", "user"], ["shipping_method_id", "shipping_method"], ["payment_method_id", "payment_method"]] as const;

export function Trial({ promotion }: { promotion: string }) {
  const translate = useTranslate();
  const [items, setItems] = useState<Units[]>([{ product_id: "", quantity: 1 }]);
  const [chosen, setChosen] = useState<Partial<Record<(typeof CHOICES)[number][0], string>>>({});
  const [texts, setTexts] = useState({ zipcode: "", coupon_code: "" });
  const [result, setResult] = useState<Preview | null>(null);
  const [refusal, setRefusal] = useState("");
  const run = async () => {
    const { zipcode, coupon_code } = texts;
    const lines = items.filter((each) => each.product_id).map(({ product_id, quantity }) => ({ product_id, quantity: quantity ?? 1 }));
    setResult(null);
    setRefusal("");
    try {
      const input = { items: lines, ...chosen, ...(coupon_code ? { coupon_code } : {}), ...(zipcode ? { shipping_address: { zipcode, country: "BR" } } : {}) };
      setResult((await execute(OfficeTrialDocument, { input })).order_preview);
    } catch (error) {
      setRefusal(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <Section title={translate("promotion.trial")}>
      <Box sx={{ color: "text.secondary", fontSize: "0.92rem" }}>{translate("promotion.trial_help")}</Box>
      <UnitsField value={items} onChange={setItems} />
      {CHOICES.filter(([, entity]) => mayRead(`${entity}_page`)).map(([name, entity]) => (
        <RecordsField key={name} entity={entity} label={translate(`promotion.${entity}`)} isSingle value={chosen[name] ? [chosen[name]] : []} onChange={([id]) => setChosen(id ? { ...chosen, [name]: id } : Object.fromEntries(Object.entries(chosen).filter(([key]) => key !== name)))} />
      ))}
      <Box sx={{ display: "grid", gap: 1, gridTemplateColumns: "1fr 1fr" }}>
        <TextField size="small" label={translate("promotion.zipcode")} value={texts.zipcode} onChange={(event) => setTexts({ ...texts, zipcode: event.target.value })} />
        <TextField size="small" label={translate("promotion.coupon")} value={texts.coupon_code} onChange={(event) => setTexts({ ...texts, coupon_code: event.target.value })} />
      </Box>
      <Button variant="outlined" onClick={() => void run()}>{translate("promotion.calculate")}</Button>
      <Box aria-live="polite">
        {refusal && <Alert severity="warning">{refusal}</Alert>}
        {result && <Result preview={result} promotion={promotion} />}
      </Box>
    </Section>
  );
}

function Result({ preview, promotion }: { preview: Preview; promotion: string }) {
  const translate = useTranslate();
  const applies = preview.discounts.some((each) => each.promotion_id === promotion);
  return (
    <Box sx={{ display: "grid", gap: 1.5 }}>
      <Alert severity={applies ? "success" : "info"}>{translate(applies ? "promotion.applies" : "promotion.applies_not")}</Alert>
      <Box component="ul" sx={{ listStyle: "none", m: 0, p: 0, fontSize: "0.92rem" }}>
        {preview.lines.map((line, index) => (
          <Box component="li" key={index} sx={{ display: "flex", gap: 1 }}>
            <Box sx={{ flex: 1, overflowWrap: "anywhere" }}>{number(line.quantity)} × {line.name}{line.is_gift ? ` (${translate("promotion.gift")})` : ""}</Box>
            {line.base_price_cents !== line.price_cents && <s>{money(line.base_price_cents * line.quantity)}</s>}
            <span>{money(line.total_cents)}</span>
          </Box>
        ))}
      </Box>
      <Facts
        facts={[
          ...preview.discounts.map((each) => [each.name, each.amount_cents ? money(-each.amount_cents) : "✓"] as const),
          [translate("order.subtotal"), money(preview.subtotal_cents)],
          [translate("order.discount"), preview.discount_cents ? money(-preview.discount_cents) : ""],
          [translate("order.shipping"), money(preview.shipping_cents)],
          [translate("order.surcharge"), preview.surcharge_cents ? money(preview.surcharge_cents) : ""],
          [translate("order.tax"), preview.tax_cents ? money(preview.tax_cents) : ""],
          [translate("promotion.points"), preview.points_earned ? number(preview.points_earned) : ""],
          [translate("order.total"), <strong key="total">{money(preview.total_cents)}</strong>],
        ]}
      />
    </Box>
  );
}
