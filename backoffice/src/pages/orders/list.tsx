// Orders as a list with filters, of which several change their status at once, and as a board by status.
import Button from "@mui/material/Button";
import ToggleButton from "@mui/material/ToggleButton";
import ToggleButtonGroup from "@mui/material/ToggleButtonGroup";
import { type RaRecord, useGetMany, useListContext, useTranslate } from "ra-core";
import { useState } from "react";
import { useSearchParams } from "react-router-dom";
import { mayDo } from "../../data/permissions";
import { useEach } from "../../derived/bulk-actions";
import { EntityList } from "../../derived/list";
import { useEntity } from "../../entities/load";
import { useSession } from "../../shell/context";
import { Page } from "../../shell/page";
import { entityName } from "../../texts";
import { Board } from "./board";
import { nextStatuses, useOrderStatuses } from "./data";
import { StatusDialog } from "./status";

const VIEW = "view";
const BOARD = "board";
const STATUS = { selection: "status" };

export default function OrderList() {
  const entity = useEntity("order");
  const [parameters, setParameters] = useSearchParams();
  const isBoard = parameters.get(VIEW) === BOARD;
  const show = (view: string) => setParameters(view === BOARD ? { [VIEW]: BOARD } : {});
  const choice = <Views view={isBoard ? BOARD : "list"} onChange={show} />;
  if (isBoard) return <Page title={entityName("order")} actions={choice}><Board /></Page>;
  return <EntityList entity={entity} actions={choice} {...(mayDo("order_set_status") ? { bulkActions: <SetStatus /> } : {})} />;
}

function Views({ view, onChange }: { view: string; onChange: (view: string) => void }) {
  const translate = useTranslate();
  return (
    <ToggleButtonGroup exclusive size="small" value={view} onChange={(_, chosen: string | null) => chosen && onChange(chosen)} aria-label={translate("board.view")}>
      <ToggleButton value="list">{translate("board.list")}</ToggleButton>
      <ToggleButton value={BOARD}>{translate("board.title")}</ToggleButton>
    </ToggleButtonGroup>
  );
}

// One status for all orders that are chosen: those that every one of them may have.
function SetStatus() {
  const translate = useTranslate();
  const { me } = useSession();
  const statuses = useOrderStatuses();
  const { selectedIds } = useListContext();
  const { run } = useEach();
  // Those of other pages too.
  const { data = [] } = useGetMany<RaRecord & { status: string }>("order", { ids: selectedIds, meta: STATUS });
  const [isOpen, setOpen] = useState(false);
  const orders = data.filter(Boolean).map(({ id, status }) => ({ id: String(id), status }));
  const choices = statuses.filter(({ letter }) => orders.every(({ status }) => nextStatuses(statuses, status, me.role === "vendor").some((each) => each.letter === letter)));
  return (
    <>
      <Button size="small" disabled={!orders.length} onClick={() => setOpen(true)}>{translate("order.set_status")}</Button>
      {isOpen && <StatusDialog orders={orders} choices={choices} run={(set) => run((id) => set(String(id)), "ra.notification.updated")} onClose={() => setOpen(false)} />}
    </>
  );
}
