// The list of any entity: columns, filters and sorts from its description. A phone shows a card of each record.
import Add from "@mui/icons-material/Add";
import Button from "@mui/material/Button";
import useMediaQuery from "@mui/material/useMediaQuery";
import { type RaRecord, useResourceContext, useTranslate } from "ra-core";
import { DataTable, FilterButton, List, Pagination, SimpleList, TopToolbar } from "ra-ui-materialui";
import { lazy, type ReactNode, Suspense } from "react";
import { Link } from "react-router-dom";
import { mayAct } from "../data/permissions";
import type { Values } from "../data/values";
import { columnsOf, sortOf } from "../entities/columns";
import { useEntity } from "../entities/load";
import { ORDER } from "../entities/order";
import type { Entity, Field } from "../entities/types";
import { entityName, fieldName } from "../texts";
import { Page } from "../shell/page";
import { BulkActions, hasBulkActions } from "./bulk-actions";
import { filterInputs } from "./filters";
import { SelectAll, SelectedRecords, SelectRecord } from "./selection";
import { Value } from "./value";

const BulkButtons = lazy(() => import("../pages/bulk/buttons"));

export default function DerivedList() {
  const name = useResourceContext() ?? "";
  return <EntityList key={name} entity={useEntity(name)} />;
}

interface Props {
  entity: Entity;
  // What stands beside the title, and above the table.
  actions?: ReactNode;
  children?: ReactNode;
  // What else is done with all records that are chosen.
  bulkActions?: ReactNode;
}

export function EntityList({ entity, actions, children, bulkActions }: Props) {
  const isNarrow = useMediaQuery("(max-width: 700px)");
  const columns = columnsOf(entity);
  const hasActions = hasBulkActions(entity);
  const isSelectable = hasActions || bulkActions !== undefined;
  return (
    <Page title={entityName(entity.name)} actions={actions}>
      {children}
      <List
        title={false}
        exporter={false}
        filters={filterInputs(entity, isNarrow)}
        sort={firstSort(entity)}
        perPage={25}
        pagination={<Pagination rowsPerPageOptions={[25, 50, 100]} />}
        actions={<Actions entity={entity} />}
        queryOptions={{ meta: { columns: true } }}
        empty={false}
      >
        {isSelectable && <SelectedRecords>{bulkActions}{hasActions && <BulkActions entity={entity} />}</SelectedRecords>}
        {isNarrow ? <Cards entity={entity} columns={columns} isSelectable={isSelectable} /> : <Table entity={entity} columns={columns} isSelectable={isSelectable} />}
      </List>
    </Page>
  );
}

function firstSort(entity: Entity): { field: string; order: "ASC" | "DESC" } {
  const [field, order] = ORDER[entity.name]?.sort ?? (sortOf(entity, "created_at") ? ["created_at", "DESC"] : ["id", "DESC"]);
  return { field, order: order as "ASC" | "DESC" };
}

// Not react-admin's button, which on phones covers what is below it.
function Actions({ entity }: { entity: Entity }) {
  const translate = useTranslate();
  return (
    <TopToolbar>
      {entity.filters.length > 0 && <FilterButton disableSaveQuery />}
      <Suspense><BulkButtons entity={entity} /></Suspense>
      {entity.create && mayAct("create", entity.name) && <Button component={Link} to={`/${entity.name}/create`} size="small" startIcon={<Add />}>{translate("ra.action.create")}</Button>}
    </TopToolbar>
  );
}

interface RowsProps {
  entity: Entity;
  columns: Field[];
  isSelectable: boolean;
}

function Table({ entity, columns, isSelectable }: RowsProps) {
  return (
    <DataTable bulkActionButtons={false} rowClick="edit" size="small">
      {isSelectable && <DataTable.Col source="id" label={<SelectAll />} disableSort render={(record: RaRecord) => <SelectRecord record={record} label={String(record[entity.label])} />} />}
      {columns.map((field) => {
        const sort = sortOf(entity, field.name);
        const isNumber = field.kind === "integer" || field.kind === "number";
        return (
          <DataTable.Col
            key={field.name}
            source={field.name}
            label={fieldName(field.name)}
            disableSort={!sort}
            align={isNumber ? "right" : "left"}
            render={(record: Values) => <Cell field={field} record={record} />}
          />
        );
      })}
    </DataTable>
  );
}

function Cell({ field, record }: { field: Field; record: Values }) {
  const currency = typeof record.currency === "string" ? { currency: record.currency } : {};
  return <Value isShort field={field} value={record[field.name]} {...currency} />;
}

const isEmpty = (value: unknown) => value === null || value === undefined || value === "" || (Array.isArray(value) && !value.length);

function Cards({ entity, columns, isSelectable }: RowsProps) {
  const translate = useTranslate();
  const picture = columns.find((field) => field.members?.some((member) => member.name === "url"));
  const [first, second, ...others] = columns.filter((field) => field !== picture);
  const show = (record: Values, fields: (Field | undefined)[]) =>
    fields.map((field) => field && !isEmpty(record[field.name]) && <Value isShort key={field.name} field={{ ...field, ...(field.kind === "record" ? { entity: "" } : {}) }} value={record[field.name]} />);
  return (
    <SimpleList
      rowClick="edit"
      rightIcon={isSelectable ? (record: RaRecord) => <SelectRecord record={record} label={String(record[entity.label])} /> : undefined}
      leftAvatar={picture ? (record: Values) => <Value field={picture} value={record[picture.name]} /> : undefined}
      primaryText={(record: Values) => show(record, [first])[0] || translate("ra.action.show")}
      secondaryText={(record: Values) => (
        <span>{show(record, [second, ...others.slice(0, 2)]).filter(Boolean).map((item, index) => <span key={index}>{index ? " · " : ""}{item}</span>)}</span>
      )}
      tertiaryText={(record: Values) => show(record, [others.at(-1)])[0] || ""}
    />
  );
}
