// The records that refer to a record: a list of each entity whose list can be filtered by it, read when it is opened.
import ExpandMore from "@mui/icons-material/ExpandMore";
import Accordion from "@mui/material/Accordion";
import AccordionDetails from "@mui/material/AccordionDetails";
import AccordionSummary from "@mui/material/AccordionSummary";
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Table from "@mui/material/Table";
import TableBody from "@mui/material/TableBody";
import TableCell from "@mui/material/TableCell";
import TableContainer from "@mui/material/TableContainer";
import TableHead from "@mui/material/TableHead";
import TableRow from "@mui/material/TableRow";
import Typography from "@mui/material/Typography";
import { type RaRecord, useGetList, useTranslate } from "ra-core";
import { Link } from "react-router-dom";
import { mayAct } from "../data/permissions";
import type { Values } from "../data/values";
import { columnsOf } from "../entities/columns";
import { useDescriptions } from "../entities/load";
import { ORDER } from "../entities/order";
import type { Entity, Field } from "../entities/types";
import { entityName, fieldName } from "../texts";
import { Value } from "./value";

const SHOWN = 10;

interface Props {
  entity: Entity;
  record: RaRecord;
}

export function RelatedLists({ entity, record, without = [] }: Props & { without?: readonly string[] }) {
  const { entities } = useDescriptions();
  const open = ORDER[entity.name]?.related ?? [];
  const lists = Object.values(entities)
    .flatMap((other) => {
      const filter = mayAct("list", other.name) && !without.includes(other.name) ? filterBy(other, entity) : undefined;
      return filter ? [{ other, filter }] : [];
    })
    .toSorted((one, another) => rank(open, one.other.name) - rank(open, another.other.name));
  if (!lists.length) return null;
  return (
    <Box>
      {lists.map(({ other, filter }) => (
        <Accordion key={other.name} defaultExpanded={open.includes(other.name)} disableGutters slotProps={{ transition: { unmountOnExit: true }, heading: { component: "h2" } }}>
          <AccordionSummary id={`related-${other.name}`} aria-controls={`related-${other.name}-list`} expandIcon={<ExpandMore />}>{entityName(other.name)}</AccordionSummary>
          <AccordionDetails><Related entity={entity} record={record} other={other} filter={filter} /></AccordionDetails>
        </Accordion>
      ))}
    </Box>
  );
}

const rank = (open: readonly string[], name: string) => (open.includes(name) ? open.indexOf(name) : open.length);

function filterBy(other: Entity, entity: Entity): Field | undefined {
  return other === entity ? undefined : other.filters.find((field) => field.kind === "record" && field.entity === entity.name && !field.name.startsWith("below_") && field.name !== "id");
}

function Related({ record, entity, other, filter }: Props & { other: Entity; filter: Field }) {
  const translate = useTranslate();
  const query = { filter: { [filter.name]: record.id }, pagination: { page: 1, perPage: SHOWN }, meta: { columns: true } };
  const { data = [], total = 0, isPending } = useGetList<RaRecord>(other.name, query);
  const columns = columnsOf(other).filter((field) => field.entity !== entity.name);
  if (isPending) return null;
  return (
    <Box sx={{ display: "grid", gap: 1, gridTemplateColumns: "minmax(0, 1fr)" }}>
      {data.length ? <Rows other={other} records={data} columns={columns} /> : <Typography color="text.secondary">{translate("related.none")}</Typography>}
      <Box sx={{ display: "flex", gap: 1 }}>
        {total > data.length && <Button component={Link} to={`/${other.name}?filter=${encodeURIComponent(JSON.stringify(query.filter))}`}>{translate("related.all", { smart_count: total })}</Button>}
        <CreateLink other={other} entity={entity} id={record.id} />
      </Box>
    </Box>
  );
}

function Rows({ other, records, columns }: { other: Entity; records: readonly RaRecord[]; columns: readonly Field[] }) {
  const translate = useTranslate();
  return (
    <TableContainer>
      <Table size="small">
        <TableHead>
          <TableRow>
            {columns.map((field) => <TableCell key={field.name}>{fieldName(field.name)}</TableCell>)}
            <TableCell />
          </TableRow>
        </TableHead>
        <TableBody>
          {records.map((record) => (
            <TableRow key={record.id}>
              {columns.map((field) => <TableCell key={field.name}><Value isShort field={field} value={(record as Values)[field.name]} /></TableCell>)}
              <TableCell align="right"><Button component={Link} size="small" to={`/${other.name}/${encodeURIComponent(record.id)}`}>{translate("ra.action.show")}</Button></TableCell>
            </TableRow>
          ))}
        </TableBody>
      </Table>
    </TableContainer>
  );
}

// A form that refers to the record already.
function CreateLink({ other, entity, id }: { other: Entity; entity: Entity; id: RaRecord["id"] }) {
  const translate = useTranslate();
  const field = [...(other.create?.fields ?? []), ...(other.create?.extra ?? [])].find((each) => each.kind === "record" && each.entity === entity.name);
  if (!field || !other.create || !mayAct("create", other.name)) return null;
  const source = JSON.stringify({ input: { [field.name]: id } });
  return <Button component={Link} to={`/${other.name}/create?source=${encodeURIComponent(source)}`}>{translate("ra.action.create")}</Button>;
}
