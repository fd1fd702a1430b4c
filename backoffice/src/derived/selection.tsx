// The choice of several records of a list, and what is done with them.
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Checkbox from "@mui/material/Checkbox";
import Paper from "@mui/material/Paper";
import { type RaRecord, useListContext, useTranslate } from "ra-core";
import type { ReactNode } from "react";

export function SelectRecord({ record, label }: { record: RaRecord; label: string }) {
  const translate = useTranslate();
  const { selectedIds, onToggleItem } = useListContext();
  return (
    <Checkbox
      size="small" checked={selectedIds.includes(record.id)} onChange={() => onToggleItem(record.id)} onClick={(event) => event.stopPropagation()}
      slotProps={{ input: { "aria-label": `${translate("ra.action.select_row")}: ${label}` } }}
    />
  );
}

// All records of the page that is shown.
export function SelectAll() {
  const translate = useTranslate();
  const { data = [], selectedIds, onSelect } = useListContext<RaRecord>();
  const ids = data.map(({ id }) => id);
  const chosen = ids.filter((id) => selectedIds.includes(id)).length;
  const toggle = () => onSelect(chosen === ids.length ? selectedIds.filter((id) => !ids.includes(id)) : [...new Set([...selectedIds, ...ids])]);
  return (
    <Checkbox
      size="small" checked={ids.length > 0 && chosen === ids.length} indeterminate={chosen > 0 && chosen < ids.length} onChange={toggle}
      slotProps={{ input: { "aria-label": translate("ra.action.select_all") } }}
    />
  );
}

export function SelectedRecords({ children }: { children: ReactNode }) {
  const translate = useTranslate();
  const { selectedIds, onUnselectItems } = useListContext();
  if (!selectedIds.length) return null;
  return (
    <Paper sx={{ display: "flex", flexWrap: "wrap", gap: 1, alignItems: "center", px: 2, py: 1, mb: 1, position: "sticky", top: 64, zIndex: 2 }}>
      <Box role="status" sx={{ flex: 1 }}>{translate("ra.action.bulk_actions", { smart_count: selectedIds.length })}</Box>
      {children}
      <Button size="small" onClick={() => onUnselectItems()}>{translate("ra.action.unselect")}</Button>
    </Paper>
  );
}
