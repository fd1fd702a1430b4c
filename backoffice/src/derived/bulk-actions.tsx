// What is done with several records of any entity: another status, or their deletion, one after the other. Those that the server refuses
// stay chosen.
import Button from "@mui/material/Button";
import LinearProgress from "@mui/material/LinearProgress";
import MenuItem from "@mui/material/MenuItem";
import Menu from "@mui/material/Menu";
import { type Identifier, useDataProvider, useListContext, useNotify, useRefresh, useTranslate } from "ra-core";
import { useState } from "react";
import { mayAct } from "../data/permissions";
import { useDescriptions } from "../entities/load";
import type { Entity, Field } from "../entities/types";
import { fieldName, memberName } from "../texts";
import { Asked } from "./asked";

// Statuses of orders and shipments follow each other by rules of their own.
function statusOf(entity: Entity): Field | undefined {
  return mayAct("edit", entity.name) ? entity.update?.fields.find(({ name, kind }) => name === "status" && kind === "enum") : undefined;
}

export function hasBulkActions(entity: Entity): boolean {
  return mayAct("delete", entity.name) || statusOf(entity) !== undefined;
}

export function BulkActions({ entity }: { entity: Entity }) {
  const { run, done } = useEach();
  const provider = useDataProvider();
  const translate = useTranslate();
  const status = statusOf(entity);
  const set = (id: Identifier, value: string) => provider.update(entity.name, { id, data: { input: { status: value } }, previousData: { id, input: {} }, meta: { overwrite: true } });
  if (done !== null) return <LinearProgress variant="determinate" value={done * 100} aria-label={translate("list.done", { percent: Math.round(done * 100) })} sx={{ flex: 1 }} />;
  return (
    <>
      {status && <SetStatus field={status} onChoose={(value) => void run((id) => set(id, value), "ra.notification.updated")} />}
      {mayAct("delete", entity.name) && <DeleteAll onConfirm={() => void run((id) => provider.delete(entity.name, { id }), "ra.notification.deleted")} />}
    </>
  );
}

// Does something with each chosen record; `done` is the share of them while it runs.
export function useEach() {
  const { selectedIds, onSelect } = useListContext();
  const notify = useNotify();
  const refresh = useRefresh();
  const [done, setDone] = useState<number | null>(null);
  const run = async (change: (id: Identifier) => Promise<unknown>, success: string) => {
    const refused: Identifier[] = [];
    let reason = "";
    for (const [index, id] of selectedIds.entries()) {
      setDone(index / selectedIds.length);
      try {
        await change(id);
      } catch (error) {
        refused.push(id);
        reason ||= error instanceof Error ? error.message : String(error);
      }
    }
    setDone(null);
    onSelect(refused);
    const count = selectedIds.length - refused.length;
    if (refused.length) notify("list.some_refused", { type: "error", messageArgs: { smart_count: refused.length, reason } });
    else notify(success, { type: "success", messageArgs: { smart_count: count } });
    refresh();
  };
  return { run, done };
}

function SetStatus({ field, onChoose }: { field: Field; onChoose: (value: string) => void }) {
  const [anchor, setAnchor] = useState<HTMLElement | null>(null);
  const choices = useDescriptions().enums[field.enum ?? ""] ?? [];
  const choose = (value: string) => {
    setAnchor(null);
    onChoose(value);
  };
  return (
    <>
      <Button size="small" aria-haspopup="menu" onClick={(event) => setAnchor(event.currentTarget)}>{fieldName(field.name)}…</Button>
      <Menu anchorEl={anchor} open={anchor !== null} onClose={() => setAnchor(null)}>
        {choices.map(({ id, name }) => <MenuItem key={id} onClick={() => choose(id)}>{memberName(name)}</MenuItem>)}
      </Menu>
    </>
  );
}

function DeleteAll({ onConfirm }: { onConfirm: () => void }) {
  const translate = useTranslate();
  const { selectedIds } = useListContext();
  return (
    <Asked title={translate("list.delete", { smart_count: selectedIds.length })} onConfirm={onConfirm}>
      {(ask) => <Button size="small" color="error" onClick={ask}>{translate("ra.action.delete")}</Button>}
    </Asked>
  );
}
