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
