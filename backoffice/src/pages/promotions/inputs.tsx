// Inputs of conditions and bonuses, whose values are those that the schema takes.
import Alert from "@mui/material/Alert";
import Autocomplete from "@mui/material/Autocomplete";
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import MenuItem from "@mui/material/MenuItem";
import TextField from "@mui/material/TextField";
import { type RaRecord, useGetList, useGetMany, useRecordContext, useTranslate } from "ra-core";
import { useState } from "react";
import { useEntity } from "../../entities/load";
import { decimal, readMoney, readNumber, writeMoney } from "../../format";
import type { Units } from "./terms";

export interface Choice<Name extends string = string> {
  id: Name;
  name: string;
}

interface ChoiceProps<Name extends string> {
  label: string;
  value: Name;
  choices: readonly Choice<Name>[];
  onChange: (value: Name) => void;
}

export function ChoiceField<Name extends string>({ label, value, choices, onChange }: ChoiceProps<Name>) {
  return (
    <TextField select fullWidth size="small" label={label} value={value} onChange={(event) => onChange(event.target.value as Name)}>
      {choices.map(({ id, name }) => <MenuItem key={id} value={id}>{name}</MenuItem>)}
    </TextField>
  );
}

interface NumberProps {
  label: string;
  value: number;
  // How the number is written and read, such as an amount for its cents.
  scale?: Scale;
  onChange: (value: number) => void;
}
export interface Scale {
  write: (value: number) => string;
  read: (text: string) => number;
}

export const MONEY: Scale = { write: writeMoney, read: readMoney };
export const PERCENT: Scale = { write: (value) => decimal(String(value / 1000)), read: (text) => Math.round(readNumber(text) * 1000) };
const WHOLE: Scale = { write: String, read: readNumber };

// What is typed stays until the field is left.
export function NumberField({ label, value, scale = WHOLE, onChange }: NumberProps) {
  const [typed, setTyped] = useState<string | null>(null);
  const change = (text: string) => {
    setTyped(text);
    const read = text.trim() ? scale.read(text) : Number.NaN;
    if (Number.isInteger(read)) onChange(read);
  };
  return (
    <TextField
      fullWidth size="small" label={label} value={typed ?? scale.write(value)} onChange={(event) => change(event.target.value)} onBlur={() => setTyped(null)}
      error={typed !== null && !Number.isInteger(scale.read(typed))} slotProps={{ htmlInput: { inputMode: "decimal" } }}
    />
  );
}

// Texts of any characters, each a chip.
export function TextsField({ label, value, onChange }: { label: string; value: readonly string[]; onChange: (value: string[]) => void }) {
  const help = useTranslate()("promotion.texts");
  return (
    <Autocomplete
      freeSolo autoSelect multiple size="small" fullWidth options={[]} value={[...value]} onChange={(_, texts) => onChange(texts.map((each) => each.trim()).filter(Boolean))}
      renderInput={(props) => <TextField {...props} label={label} helperText={help} />}
    />
  );
}

// Whether a record has what can't be shown typed, which null says: it stays as it is.
export function useUnread(source: string): boolean {
  const record = useRecordContext<RaRecord & { input?: Record<string, unknown> }>();
  return record?.input?.[source.replace("input.", "")] === null;
}

export function Unread() {
  return <Alert severity="warning">{useTranslate()("promotion.unread")}</Alert>;
}

interface RecordsProps {
  entity: string;
  label: string;
  value: readonly string[];
  isSingle?: boolean;
  onChange: (value: string[]) => void;
}

// Records of an entity, searched by their names.
export function RecordsField({ entity: name, label, value, isSingle = false, onChange }: RecordsProps) {
  const entity = useEntity(name);
  const [text, setText] = useState("");
  const canSearch = entity.filters.some((each) => each.name === "search");
  const { data: chosen = [] } = useGetMany<RaRecord>(name, { ids: [...value] }, { enabled: value.length > 0 });
  const { data: listed = [] } = useGetList<RaRecord>(name, { pagination: { page: 1, perPage: canSearch ? 25 : 500 }, sort: { field: "name", order: "ASC" }, filter: canSearch && text ? { search: text } : {} });
  const known = [...chosen, ...listed].filter((record): record is RaRecord => Boolean(record));
  const nameOf = (id: string) => String(known.find((record) => record.id === id)?.[entity.label] ?? "…");
  const shared = {
    options: [...new Set([...value, ...listed.map((record) => String(record.id))])], getOptionLabel: nameOf, size: "small", fullWidth: true,
    onInputChange: (_: unknown, entered: string, reason: string) => setText(reason === "input" ? entered : ""),
    ...(canSearch ? { filterOptions: (options: string[]) => options } : {}),
  } as const;
  if (isSingle) return <Autocomplete {...shared} value={value[0] ?? null} onChange={(_, id) => onChange(id ? [id] : [])} renderInput={(props) => <TextField {...props} label={label} />} />;
  return <Autocomplete {...shared} multiple value={[...value]} onChange={(_, ids) => onChange(ids)} renderInput={(props) => <TextField {...props} label={label} />} />;
}

// Products, each with a number of units.
export function UnitsField({ value, onChange }: { value: readonly Units[]; onChange: (value: Units[]) => void }) {
  const translate = useTranslate();
  const replace = (index: number, changed: Partial<Units>) => onChange(value.map((each, place) => (place === index ? { ...each, ...changed } : each)));
  return (
    <Box sx={{ display: "grid", gap: 1, gridTemplateColumns: "minmax(0, 1fr)" }}>
      {value.map((each, index) => (
        <Box key={index} sx={{ display: "grid", gap: 1, gridTemplateColumns: "minmax(0, 1fr) auto", alignItems: "center" }}>
          <Box sx={{ gridColumn: "1 / -1" }}><RecordsField entity="product" label={translate("promotion.product")} isSingle value={each.product_id ? [each.product_id] : []} onChange={([id = ""]) => replace(index, { product_id: id })} /></Box>
          <NumberField label={translate("promotion.units")} value={each.quantity ?? 1} onChange={(quantity) => replace(index, { quantity })} />
          <RemoveButton label={translate("promotion.product")} onClick={() => onChange(value.filter((_, place) => place !== index))} />
        </Box>
      ))}
      <Button size="small" sx={{ justifySelf: "start" }} onClick={() => onChange([...value, { product_id: "", quantity: 1 }])}>{translate("promotion.add_product")}</Button>
    </Box>
  );
}

export function RemoveButton({ label, onClick }: { label: string; onClick: () => void }) {
  const remove = useTranslate()("promotion.remove");
  return <Button size="small" color="error" onClick={onClick} aria-label={`${remove}: ${label}`}>{remove}</Button>;
}
