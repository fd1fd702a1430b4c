// The combinations of a product's options as a table: price, SKU and stock are edited in place, and saved together.
import Delete from "@mui/icons-material/DeleteOutlined";
import Open from "@mui/icons-material/OpenInNew";
import Alert from "@mui/material/Alert";
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import IconButton from "@mui/material/IconButton";
import TextField from "@mui/material/TextField";
import { useNotify, useTranslate } from "ra-core";
import { useState } from "react";
import { Link } from "react-router-dom";
import { mayAct, mayDo } from "../../data/permissions";
import { Asked } from "../../derived/asked";
import { useNotifyError } from "../../derived/form";
import { Held } from "../../derived/held";
import { Unsaved, useReread } from "../../derived/unsaved";
import { money, writeMoney } from "../../format";
import { OfficeCombinationDeleteDocument, OfficeCombinationsDocument } from "../../generated";
import { execute } from "../../graphql/client";
import { Nothing, Section } from "../orders/parts";
import { type Combination, type Edit, isValid, missingChoices, nameOf, type Refusals, saveCombinations } from "./edits";
import type { Offer } from "./options";

const GRID = { display: "grid", gap: 1, alignItems: "start", gridTemplateColumns: { xs: "1fr 1fr", sm: "minmax(0, 1fr) 9rem 10rem 7rem auto" } };

export function Combinations({ product }: { product: Offer }) {
  const translate = useTranslate();
  const notify = useNotify();
  const notifyError = useNotifyError();
  const reread = useReread();
  const [edits, setEdits] = useState<Readonly<Record<string, Edit>>>({});
  const [refusals, setRefusals] = useState<Refusals>({});
  const [isBusy, setBusy] = useState(false);
  const missing = missingChoices(product);
  const changed = Object.keys(edits).filter((id) => product.combinations.some((combination) => combination.id === id));

  const run = async (work: () => Promise<unknown>) => {
    setBusy(true);
    try {
      await work();
    } catch (error) {
      notifyError(error);
    } finally {
      reread();
      setBusy(false);
    }
  };
  const edit = (id: string, entered: Edit) => setEdits({ ...edits, [id]: { ...edits[id], ...entered } });
  const save = () =>
    run(async () => {
      const refused = await saveCombinations(edits);
      setRefusals(refused);
      // What was refused stays as it was typed.
      setEdits(Object.fromEntries(Object.entries(edits).filter(([id]) => id in refused)));
      const count = Object.keys(refused).length;
      if (count) notify("product.not_saved", { type: "error", messageArgs: { smart_count: count } });
      else notify("order.saved", { type: "success" });
    });
  const generate = () => run(() => execute(OfficeCombinationsDocument, { product_id: product.id, inputs: missing.map((choices) => ({ choices })) }));

  const create = mayDo("combination_batch_create") && missing.length > 0 && (
    <Button variant="outlined" size="small" disabled={isBusy} onClick={() => void generate()}>{translate("product.generate", { smart_count: missing.length })}</Button>
  );
  return (
    <Section title={translate("product.combinations")} actions={create}>
      {!product.combinations.length && <Nothing text="product.no_combinations" />}
      <Held isHeld={isBusy}>
        {product.combinations.map((combination) => (
          <Row key={combination.id} combination={combination} currency={product.currency} edit={edits[combination.id] ?? {}} refusal={refusals[combination.id] ?? {}} onEdit={edit} />
        ))}
      </Held>
      {changed.length > 0 && (
        <Box sx={{ position: "sticky", bottom: 0, zIndex: 2, bgcolor: "background.paper", py: 1, display: "flex", gap: 1 }}>
          <Unsaved />
          <Button variant="contained" disabled={isBusy || !changed.every((id) => isValid(edits[id] ?? {}))} onClick={() => void save()}>{translate("product.save_combinations", { smart_count: changed.length })}</Button>
          <Button disabled={isBusy} onClick={() => setEdits({})}>{translate("ra.action.undo")}</Button>
        </Box>
      )}
    </Section>
  );
}

interface RowProps {
  combination: Combination;
  currency: string;
  edit: Edit;
  refusal: Readonly<Record<string, string>>;
  onEdit: (id: string, entered: Edit) => void;
}

function Row({ combination, currency, edit, refusal, onEdit }: RowProps) {
  const translate = useTranslate();
  const { id, sku, stock, modifier_cents, pricing } = combination;
  const name = nameOf(combination);
  const isReadOnly = !mayDo("combination_update");
  const input = (field: keyof Edit, label: string, present: string, mode: "text" | "decimal" | "numeric") => (
    <TextField
      label={label} value={edit[field] ?? present} disabled={isReadOnly} fullWidth
      error={Boolean(refusal[field]) || !isValid({ [field]: edit[field] })} helperText={refusal[field] ?? (isValid({ [field]: edit[field] }) ? "" : translate(field === "modifier_cents" ? "form.money_invalid" : "product.number_invalid"))}
      onChange={(event) => onEdit(id, { [field]: event.target.value })}
      slotProps={{ htmlInput: { inputMode: mode, "aria-label": `${label}: ${name}`, name: `${field}.${id}` } }}
    />
  );
  return (
    <Box role="group" aria-label={name} data-combination={id} sx={{ ...GRID, borderTop: "1px solid", borderColor: "divider", pt: 1 }}>
      <Box sx={{ gridColumn: { xs: "1 / -1", sm: "auto" }, minWidth: 0, alignSelf: "center", overflowWrap: "anywhere" }}>
        {name}
        {pricing && <Box sx={{ color: "text.secondary", fontSize: "0.85rem" }}>{money(pricing.base_cents, currency)}</Box>}
        {refusal[""] && <Alert severity="error">{refusal[""]}</Alert>}
      </Box>
      {input("modifier_cents", translate("product.modifier"), writeMoney(modifier_cents), "decimal")}
      {input("sku", "SKU", sku, "text")}
      {input("stock", translate("product.stock"), String(stock), "numeric")}
      <RowActions id={id} name={name} />
    </Box>
  );
}

function RowActions({ id, name }: { id: string; name: string }) {
  const translate = useTranslate();
  const reread = useReread();
  const notifyError = useNotifyError();
  const remove = async () => {
    try {
      await execute(OfficeCombinationDeleteDocument, { id });
      reread();
    } catch (error) {
      notifyError(error);
    }
  };
  const title = translate("product.combination_delete", { name });
  return (
    <Box sx={{ whiteSpace: "nowrap", justifySelf: "end" }}>
      {mayAct("edit", "combination") && <IconButton component={Link} to={`/combination/${id}`} aria-label={translate("product.combination_edit", { name })}><Open fontSize="small" /></IconButton>}
      {mayDo("combination_delete") && <Asked title={title} onConfirm={() => void remove()}>{(ask) => <IconButton onClick={ask} aria-label={title}><Delete fontSize="small" /></IconButton>}</Asked>}
    </Box>
  );
}
