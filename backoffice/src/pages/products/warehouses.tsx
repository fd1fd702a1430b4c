// The stock of a product or its combinations by warehouse, as a table that is changed in place and saved at once.
import Alert from "@mui/material/Alert";
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import TextField from "@mui/material/TextField";
import { useQuery } from "@tanstack/react-query";
import { useNotify, useTranslate } from "ra-core";
import { useState } from "react";
import { mayDo } from "../../data/permissions";
import { useNotifyError } from "../../derived/form";
import { Held } from "../../derived/held";
import { Unsaved, useReread } from "../../derived/unsaved";
import { number } from "../../format";
import { OfficeWarehousesDocument, OfficeWarehouseStockDocument, type OfficeWarehouseStockQuery, OfficeWarehouseStockSetDocument, type OfficeWarehousesQuery } from "../../generated";
import { execute } from "../../graphql/client";
import { Nothing, Section } from "../orders/parts";

type Stored = NonNullable<OfficeWarehouseStockQuery["product"]>;
type Warehouse = NonNullable<OfficeWarehousesQuery["warehouses"]>[number];
// The product itself, or one of its combinations.
type Item = Pick<Stored, "stock" | "warehouse_stock"> & { id: string; name: string; combination_id?: string };
// What was typed, by item and warehouse.
type Edits = Readonly<Record<string, string>>;

// A document of the schema takes this many.
const MOST = 1000;
const key = (item: Item, warehouse: Warehouse) => `${item.id}.${warehouse.id}`;
const present = (item: Item, warehouse: Warehouse) => item.warehouse_stock?.find(({ warehouse_id }) => warehouse_id === warehouse.id)?.quantity;
const isValid = (text: string) => /^\d{0,12}$/.test(text.trim());

async function load(id: string): Promise<{ product: Stored; warehouses: Warehouse[] } | null> {
  const { product } = await execute(OfficeWarehouseStockDocument, { id });
  if (!product) return null;
  const { warehouses } = await execute(OfficeWarehousesDocument, { owners: product.vendor ? [product.vendor.id, "0"] : ["0"] });
  return { product, warehouses: warehouses ?? [] };
}

function itemsOf(product: Stored): Item[] {
  if (!product.combinations.length) return [{ ...product, name: "" }];
  return product.combinations.map(({ choices, ...combination }) => ({
    ...combination, combination_id: combination.id, name: choices.map(({ option_name, variant_name }) => `${option_name}: ${variant_name}`).join(", "),
  }));
}

export function Warehouses({ id }: { id: string }) {
  const translate = useTranslate();
  const { data, error } = useQuery({ queryKey: ["product", "warehouses", id], queryFn: () => load(id) });
  if (error) return <Alert severity="error">{error.message}</Alert>;
  if (!data?.warehouses.length) return null;
  const items = itemsOf(data.product);
  return (
    <Section title={translate("product.warehouses")}>
      {!items.some(({ warehouse_stock }) => warehouse_stock?.length) && <Nothing text="product.warehouses_help" />}
      <Table product={id} items={items} warehouses={data.warehouses} />
    </Section>
  );
}

function Table({ product, items, warehouses }: { product: string; items: readonly Item[]; warehouses: readonly Warehouse[] }) {
  const translate = useTranslate();
  const notify = useNotify();
  const notifyError = useNotifyError();
  const reread = useReread();
  const [edits, setEdits] = useState<Edits>({});
  const [isBusy, setBusy] = useState(false);
  const cells = items.flatMap((item) => warehouses.map((warehouse) => ({ item, warehouse })));
  const changed = cells.filter(({ item, warehouse }) => (edits[key(item, warehouse)] ?? "").trim() !== String(present(item, warehouse) ?? "") && key(item, warehouse) in edits);
  const save = async () => {
    setBusy(true);
    try {
      const stock = changed.map(({ item, warehouse }) => {
        const text = (edits[key(item, warehouse)] ?? "").trim();
        return { warehouse_id: warehouse.id, quantity: text ? Number(text) : null, ...(item.combination_id ? { combination_id: item.combination_id } : {}) };
      });
      for (let first = 0; first < stock.length; first += MOST) await execute(OfficeWarehouseStockSetDocument, { id: product, stock: stock.slice(first, first + MOST) });
      setEdits({});
      notify("order.saved", { type: "success" });
    } catch (error) {
      notifyError(error);
    } finally {
      reread();
      setBusy(false);
    }
  };
  return (
    <>
      <Held isHeld={isBusy}>
        {items.map((item) => (
          <Row key={item.id} item={item} warehouses={warehouses} edits={edits} onEdit={(cell, text) => setEdits({ ...edits, [cell]: text })} />
        ))}
      </Held>
      {changed.length > 0 && (
        <Box sx={{ position: "sticky", bottom: 0, zIndex: 2, bgcolor: "background.paper", py: 1, display: "flex", gap: 1 }}>
          <Unsaved />
          <Button variant="contained" disabled={isBusy || !changed.every(({ item, warehouse }) => isValid(edits[key(item, warehouse)] ?? ""))} onClick={() => void save()}>{translate("product.save_warehouses", { smart_count: changed.length })}</Button>
          <Button disabled={isBusy} onClick={() => setEdits({})}>{translate("ra.action.undo")}</Button>
        </Box>
      )}
    </>
  );
}

interface RowProps {
  item: Item;
  warehouses: readonly Warehouse[];
  edits: Edits;
  onEdit: (cell: string, text: string) => void;
}

function Row({ item, warehouses, edits, onEdit }: RowProps) {
  const translate = useTranslate();
  return (
    <Box role="group" aria-label={item.name || translate("product.stock")} data-stored={item.id} sx={{ borderTop: item.name ? "1px solid" : 0, borderColor: "divider", pt: item.name ? 1 : 0 }}>
      <Box sx={{ display: "flex", gap: 2, mb: 1 }}>
        <Box sx={{ flex: 1, minWidth: 0, overflowWrap: "anywhere" }}>{item.name}</Box>
        <Box sx={{ color: "text.secondary", whiteSpace: "nowrap" }}>{translate("product.warehouse_total")}: <strong>{number(item.stock)}</strong></Box>
      </Box>
      <Box sx={{ display: "grid", columnGap: 3, rowGap: 1, gridTemplateColumns: "repeat(auto-fill, minmax(15rem, 1fr))" }}>
        {warehouses.map((warehouse) => {
          const cell = key(item, warehouse);
          const text = edits[cell] ?? String(present(item, warehouse) ?? "");
          const name = warehouse.status === "D" ? translate("product.warehouse_off", { name: warehouse.name }) : warehouse.name;
          return (
            <Box key={cell} sx={{ display: "flex", gap: 1, alignItems: "start" }}>
              <Box aria-hidden sx={{ flex: 1, minWidth: 0, pt: 1, overflowWrap: "anywhere" }}>{name}</Box>
              <TextField
                hiddenLabel value={text} disabled={!mayDo("product_warehouse_stock_set")} sx={{ width: "7rem" }}
                error={!isValid(text)} helperText={isValid(text) ? "" : translate("product.number_invalid")} onChange={(event) => onEdit(cell, event.target.value)}
                slotProps={{ htmlInput: { inputMode: "numeric", "aria-label": [name, item.name].filter(Boolean).join(": "), name: `warehouse.${cell}` } }}
              />
            </Box>
          );
        })}
      </Box>
    </Box>
  );
}
