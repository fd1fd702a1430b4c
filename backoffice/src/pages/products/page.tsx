// One product: the form of its fields, and beside it what its price and stock are; below its options with their combinations.
import Button from "@mui/material/Button";
import Link from "@mui/material/Link";
import { type RaRecord, useRecordContext, useTranslate } from "ra-core";
import { Link as RouterLink, useParams } from "react-router-dom";
import { config } from "../../config";
import { isRefused, mayRead } from "../../data/permissions";
import type { Values } from "../../data/values";
import { EntityEdit } from "../../derived/edit";
import { useEntity } from "../../entities/load";
import { money, number } from "../../format";
import { Facts, Nothing, Section } from "../orders/parts";
import { Options } from "./options";
import { Warehouses } from "./warehouses";

// The fields and lists that the page shows in another form.
const BY_HAND = {
  actions: ["product_warehouse_stock_set"],
  fields: ["warehouse_stock", "pricing", "price_range", "stock", "on_hand", "reserved", "available_quantity", "main_image", "seo", "description_text", "currency", "combinations", "options", "is_available", "category"],
  lists: ["combination", "option"],
};

export default function ProductPage() {
  const { id } = useParams();
  return (
    <EntityEdit
      key={id} entity={useEntity("product")} byHand={BY_HAND} actions={<Preview />}
      aside={<><Price /><Stock /></>} below={<>{!isRefused("Product", "options") && <Options id={id ?? ""} />}{mayRead("warehouses") && !isRefused("Product", "warehouse_stock") && <Warehouses id={id ?? ""} />}</>}
    />
  );
}

function Preview() {
  const translate = useTranslate();
  const record = useRecordContext<RaRecord & Values>();
  if (!config.hasShop || !record || record.status === "D") return null;
  return <Button variant="outlined" size="small" href={`/produto/${encodeURIComponent(String(record.slug))}`} target="_blank" rel="noopener">{translate("product.preview")}</Button>;
}

interface Pricing {
  price_cents: number;
  base_cents: number;
  promotions: { name: string }[];
}

// What a customer without a group pays for one unit now.
function Price() {
  const translate = useTranslate();
  const record = useRecordContext<RaRecord & Values>();
  const pricing = record?.pricing as Pricing | null | undefined;
  const range = record?.price_range as { min_cents: number; max_cents: number } | null | undefined;
  if (!record || !pricing) return null;
  const show = (cents: number) => money(cents, String(record.currency));
  const hasRange = range && range.min_cents !== range.max_cents;
  return (
    <Section title={translate("product.price")}>
      <Facts
        facts={[
          [translate("product.base_price"), pricing.promotions.length ? show(pricing.base_cents) : ""],
          [translate(pricing.promotions.length ? "product.now" : "product.one"), <strong key="price">{show(pricing.price_cents)}</strong>],
          [translate("product.range"), hasRange ? `${show(range.min_cents)} – ${show(range.max_cents)}` : ""],
          [translate("product.promotions"), pricing.promotions.length ? pricing.promotions.map(({ name }) => <Promotion key={name} name={name} />) : ""],
        ]}
      />
      {!pricing.promotions.length && <Nothing text="product.no_promotions" />}
    </Section>
  );
}

function Promotion({ name }: { name: string }) {
  if (!mayRead("promotion_page")) return <div>{name}</div>;
  return <div><Link component={RouterLink} to={`/promotion?filter=${encodeURIComponent(JSON.stringify({ search: name }))}`}>{name}</Link></div>;
}

function Stock() {
  const translate = useTranslate();
  const record = useRecordContext<RaRecord & Values>();
  if (!record || record.tracking === "D") return null;
  const count = (value: unknown) => (typeof value === "number" ? number(value) : "");
  return (
    <Section title={translate("product.stock")}>
      <Facts
        facts={[
          [translate("product.available"), <strong key="stock">{count(record.stock)}</strong>],
          [translate("product.reserved"), count(record.reserved)],
          [translate("product.on_hand"), count(record.on_hand)],
        ]}
      />
    </Section>
  );
}
