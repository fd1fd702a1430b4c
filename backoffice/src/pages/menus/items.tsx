// The items of a menu as rows, each with those below it.
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import FormHelperText from "@mui/material/FormHelperText";
import TextField from "@mui/material/TextField";
import { useInput, useTranslate } from "ra-core";
import { mayRead } from "../../data/permissions";
import { entityName } from "../../texts";
import { ChoiceField, RecordsField, RemoveButton } from "../promotions/inputs";
import { TARGETS, type Entity, type Item, type Target } from "./terms";

const MOST_LEVELS = 4;
const NEW: Item = { name: "" };

export default function ItemsInput({ source, label }: { source: string; label: string }) {
  const { field, fieldState } = useInput({ source });
  // Of the items, or of a field of one of them.
  const error = fieldState.error as (Partial<Record<string, { message?: string }>> & { message?: string }) | undefined;
  const problem = error?.message ?? (error?.name ?? error?.link)?.message;
  return (
    <Box component="section" aria-label={label} sx={{ display: "grid", gap: 1.25, gridTemplateColumns: "minmax(0, 1fr)" }}>
      <Box sx={{ fontWeight: 600 }}>{label}</Box>
      <ItemRows items={(field.value as Item[] | "" | null | undefined) || []} depth={1} onChange={(items) => void field.onChange(items)} />
      {problem && <FormHelperText error>{problem}</FormHelperText>}
    </Box>
  );
}

function ItemRows({ items, depth, onChange }: { items: readonly Item[]; depth: number; onChange: (items: Item[]) => void }) {
  const translate = useTranslate();
  const move = (index: number, by: 1 | -1) => {
    const moved = [...items];
    moved.splice(index + by, 0, ...moved.splice(index, 1));
    onChange(moved);
  };
  return (
    <Box sx={{ display: "grid", gap: 1.25, gridTemplateColumns: "minmax(0, 1fr)", ...(depth > 1 ? { borderLeft: "3px solid", borderColor: "divider", pl: 1.5 } : {}) }}>
      {items.map((item, index) => (
        <ItemRow
          key={index} item={item} depth={depth} isFirst={index === 0} isLast={index === items.length - 1} onMove={(by) => move(index, by)}
          onChange={(changed) => onChange(items.map((each, place) => (place === index ? changed : each)))} onRemove={() => onChange(items.filter((_, place) => place !== index))}
        />
      ))}
      <Button size="small" variant={depth > 1 ? "text" : "outlined"} sx={{ justifySelf: "start" }} onClick={() => onChange([...items, NEW])}>{translate(depth > 1 ? "menu.add_here" : "menu.add")}</Button>
    </Box>
  );
}

interface RowProps {
  item: Item;
  depth: number;
  isFirst: boolean;
  isLast: boolean;
  onMove: (by: 1 | -1) => void;
  onChange: (item: Item) => void;
  onRemove: () => void;
}

function ItemRow({ item, depth, isFirst, isLast, onMove, onChange, onRemove }: RowProps) {
  const translate = useTranslate();
  const name = item.name || translate("menu.item");
  const { target: _, ...withoutTarget } = item;
  const below = item.items ?? [];
  return (
    <Box role="group" aria-label={name} sx={{ display: "grid", gap: 1, gridTemplateColumns: "minmax(0, 1fr)" }}>
      <Box sx={{ display: "grid", gap: 1, alignItems: "start", gridTemplateColumns: { xs: "minmax(0, 1fr)", md: "minmax(0, 4fr) minmax(0, 8fr) auto" } }}>
        <TextField fullWidth size="small" label={translate("menu.name")} value={item.name} onChange={(event) => onChange({ ...item, name: event.target.value })} />
        <TargetFields target={item.target} onChange={(target) => onChange(target ? { ...item, target } : withoutTarget)} />
        <Box sx={{ display: "flex", flexWrap: "wrap" }}>
          <Button size="small" disabled={isFirst} aria-label={`${translate("menu.up")}: ${name}`} onClick={() => onMove(-1)}>↑</Button>
          <Button size="small" disabled={isLast} aria-label={`${translate("menu.down")}: ${name}`} onClick={() => onMove(1)}>↓</Button>
          {depth < MOST_LEVELS && !below.length && <Button size="small" aria-label={`${translate("menu.add_below")}: ${name}`} onClick={() => onChange({ ...item, items: [NEW] })}>{translate("menu.add_below")}</Button>}
          <RemoveButton label={name} onClick={onRemove} />
        </Box>
      </Box>
      {below.length > 0 && <ItemRows items={below} depth={depth + 1} onChange={(items) => onChange({ ...item, items })} />}
    </Box>
  );
}

type Choice = Entity | "link" | "none";

function choiceOf(target?: Target): Choice {
  return TARGETS.find((each) => target?.[`${each}_id`] !== undefined) ?? (target?.link === undefined ? "none" : "link");
}

function TargetFields({ target, onChange }: { target: Target | undefined; onChange: (target?: Target) => void }) {
  const translate = useTranslate();
  const chosen = choiceOf(target);
  const entities = TARGETS.filter((each) => each === chosen || mayRead(`${each}_page`));
  const choices = [
    ...entities.map((id) => ({ id: id as Choice, name: entityName(id, 1) })), { id: "link" as const, name: translate("menu.link") }, { id: "none" as const, name: translate("menu.none") },
  ];
  const choose = (next: Choice) => onChange(next === "none" ? undefined : next === "link" ? { link: "" } : { [`${next}_id`]: "" });
  return (
    <Box sx={{ display: "grid", gap: 1, gridTemplateColumns: { xs: "minmax(0, 1fr)", sm: "minmax(0, 3fr) minmax(0, 5fr)" } }}>
      <ChoiceField label={translate("menu.target")} value={chosen} choices={choices} onChange={choose} />
      {chosen === "link" && <TextField fullWidth size="small" label={translate("menu.link")} value={target?.link ?? ""} onChange={(event) => onChange({ link: event.target.value })} />}
      {chosen !== "link" && chosen !== "none" && <Record entity={chosen} id={target?.[`${chosen}_id`] ?? ""} onChange={(id) => onChange({ [`${chosen}_id`]: id })} />}
    </Box>
  );
}

function Record({ entity, id, onChange }: { entity: Entity; id: string; onChange: (id: string) => void }) {
  if (!mayRead(`${entity}_page`)) return <span>{id}</span>;
  return <RecordsField entity={entity} label={entityName(entity, 1)} isSingle value={id ? [id] : []} onChange={([next = ""]) => onChange(next)} />;
}
