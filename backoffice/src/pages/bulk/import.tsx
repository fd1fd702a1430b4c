// Import of a CSV file into any entity: what was read of it is shown before it is sent; the server does the rest in the background.
import Upload from "@mui/icons-material/FileUploadOutlined";
import Alert from "@mui/material/Alert";
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Checkbox from "@mui/material/Checkbox";
import FormControlLabel from "@mui/material/FormControlLabel";
import LinearProgress from "@mui/material/LinearProgress";
import Paper from "@mui/material/Paper";
import Typography from "@mui/material/Typography";
import { useTranslate } from "ra-core";
import { type DragEvent, useRef, useState } from "react";
import { useNavigate, useParams } from "react-router-dom";
import { canImport, readSheet, type RowProblem, type Sheet, startImport } from "../../bulk/import";
import { useDescriptions } from "../../entities/load";
import { number } from "../../format";
import NotFound from "../../shell/not-found";
import { Page } from "../../shell/page";
import { entityName, fieldName } from "../../texts";

const MOST_SHOWN = 20;
const MOST_ATOMIC = 10_000;

export default function ImportPage() {
  const { entity: name = "" } = useParams();
  const translate = useTranslate();
  const navigate = useNavigate();
  const descriptions = useDescriptions();
  const entity = descriptions.entities[name];
  const [sheet, setSheet] = useState<Sheet | null>(null);
  const [isAtomic, setAtomic] = useState(false);
  const [share, setShare] = useState<number | null>(null);
  const [problem, setProblem] = useState("");
  if (!entity || !canImport(entity)) return <NotFound />;

  const fail = (error: unknown) => setProblem(translate(error instanceof Error ? error.message : String(error)));
  const read = async (file: File | undefined) => {
    setProblem("");
    setSheet(null);
    if (!file) return;
    try {
      setSheet(await readSheet(file, entity, descriptions));
    } catch (error) {
      fail(error);
    }
  };
  const send = async (chosen: Sheet) => {
    setProblem("");
    setShare(0);
    try {
      await navigate(`/bulk_operation/${await startImport(entity, chosen, isAtomic && chosen.lines.length <= MOST_ATOMIC, setShare)}`);
    } catch (error) {
      fail(error);
      setShare(null);
    }
  };

  return (
    <Page title={translate("import.title", { name: entityName(name) })}>
      {problem && <Alert severity="error">{problem}</Alert>}
      <Paper sx={{ p: 2, display: "grid", gap: 2, gridTemplateColumns: "minmax(0, 1fr)" }}>
        <Typography>{translate("import.help")}</Typography>
        <FileChooser label={translate("import.choose")} onChoose={(file) => void read(file)} />
        {sheet && <Read sheet={sheet} />}
        {sheet && sheet.lines.length <= MOST_ATOMIC && <FormControlLabel control={<Checkbox checked={isAtomic} onChange={(_, checked) => setAtomic(checked)} />} label={translate("import.all_or_nothing")} />}
        {share !== null && <LinearProgress variant="determinate" value={share * 100} aria-label={translate("form.progress", { percent: Math.round(share * 100) })} />}
        {sheet && sheet.rows > 0 && (
          <Box><Button variant="contained" disabled={share !== null} onClick={() => void send(sheet)}>{translate("import.send", { smart_count: sheet.rows })}</Button></Box>
        )}
      </Paper>
    </Page>
  );
}

function FileChooser({ label, onChoose }: { label: string; onChoose: (file: File | undefined) => void }) {
  const input = useRef<HTMLInputElement>(null);
  const drop = (event: DragEvent) => {
    event.preventDefault();
    onChoose(event.dataTransfer.files[0]);
  };
  return (
    <Box data-file onDrop={drop} onDragOver={(event) => event.preventDefault()} sx={{ border: "2px dashed", borderColor: "divider", borderRadius: 2, p: 3, textAlign: "center" }}>
      <Button variant="outlined" startIcon={<Upload />} onClick={() => input.current?.click()}>{label}</Button>
      <input ref={input} type="file" accept=".csv,text/csv" hidden aria-label={label} onChange={(event) => onChoose(event.target.files?.[0])} />
    </Box>
  );
}

function Read({ sheet }: { sheet: Sheet }) {
  const translate = useTranslate();
  return (
    <>
      <Typography role="status">{translate(`import.${sheet.kind}`, { smart_count: sheet.rows })}</Typography>
      <Typography color="text.secondary">{translate("import.columns")}: {sheet.columns.map((field) => fieldName(field.name)).join(", ")}</Typography>
      {sheet.ignored.length > 0 && <Alert severity="info">{translate("import.ignored")}: {sheet.ignored.join(", ")}</Alert>}
      {sheet.problems.length > 0 && (
        <Alert severity="warning">
          {translate("import.problems", { smart_count: sheet.problems.length })}
          <Problems problems={sheet.problems} />
        </Alert>
      )}
    </>
  );
}

export function Problems({ problems }: { problems: readonly RowProblem[] }) {
  const translate = useTranslate();
  return (
    <Box component="ul" data-problems sx={{ m: 0, pl: 2.5 }}>
      {problems.slice(0, MOST_SHOWN).map(({ row, column, problem }) => <li key={`${row} ${column} ${problem}`}>{translate("import.row", { row: number(row) })} {column && `${column}: `}{translate(problem)}</li>)}
      {problems.length > MOST_SHOWN && <li>+{number(problems.length - MOST_SHOWN)}</li>}
    </Box>
  );
}
