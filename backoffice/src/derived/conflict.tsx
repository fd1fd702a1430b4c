// Another user changed what this one is about to save: both values of each field, and the choice of the version that counts.
import Alert from "@mui/material/Alert";
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Dialog from "@mui/material/Dialog";
import DialogActions from "@mui/material/DialogActions";
import DialogContent from "@mui/material/DialogContent";
import DialogTitle from "@mui/material/DialogTitle";
import { useTranslate } from "ra-core";
import { useId, useState } from "react";
import { changedValues, type Values } from "../data/values";
import type { Field } from "../entities/types";
import { fieldName } from "../texts";
import { Entered } from "./entered";
import { Held } from "./held";

interface Props {
  fields: readonly Field[];
  // The values of the form when it was opened, as they are entered, and as they are now.
  before: Values;
  mine: Values;
  theirs: Values;
  onOverwrite: () => Promise<void>;
  onReload: () => Promise<void>;
  onClose: () => void;
}

export function Conflict({ onOverwrite, onReload, onClose, ...values }: Props) {
  const translate = useTranslate();
  const title = useId();
  const [isRunning, setRunning] = useState(false);
  const run = (work: () => Promise<void>) => {
    setRunning(true);
    void work();
  };
  return (
    <Dialog open onClose={() => isRunning || onClose()} fullWidth maxWidth="sm" aria-labelledby={title}>
      <DialogTitle id={title}>{translate("form.conflict")}</DialogTitle>
      <DialogContent sx={{ display: "grid", gap: 2, gridTemplateColumns: "minmax(0, 1fr)" }}>
        <Alert severity="warning">{translate("form.changed")}</Alert>
        <BothValues {...values} />
      </DialogContent>
      <DialogActions sx={{ flexWrap: "wrap" }}>
        <Held isHeld={isRunning}>
          <Button onClick={onClose}>{translate("ra.action.back")}</Button>
          <Button onClick={() => run(onReload)}>{translate("form.reload")}</Button>
          <Button variant="contained" onClick={() => run(onOverwrite)}>{translate("form.overwrite")}</Button>
        </Held>
      </DialogActions>
    </Dialog>
  );
}

// The fields that either of the two changed.
export function BothValues({ fields, before, mine, theirs }: Pick<Props, "fields" | "before" | "mine" | "theirs">) {
  const translate = useTranslate();
  const changed = new Set([...Object.keys(changedValues(mine, before)), ...Object.keys(changedValues(theirs, before))]);
  return (
    <Box component="table" data-conflict sx={{ width: "100%", borderCollapse: "collapse", fontSize: "0.92rem", "& th, & td": { textAlign: "left", verticalAlign: "top", p: 0.75, borderBottom: "1px solid", borderColor: "divider", overflowWrap: "anywhere" } }}>
      <thead>
        <tr><th scope="col">{translate("form.field")}</th><th scope="col">{translate("form.theirs")}</th><th scope="col">{translate("form.mine")}</th></tr>
      </thead>
      <tbody>
        {fields.filter(({ name }) => changed.has(name)).map((field) => (
          <tr key={field.name}>
            <th scope="row">{fieldName(field.name)}</th>
            <td><Entered field={field} value={theirs[field.name]} /></td>
            <td><Entered field={field} value={mine[field.name]} /></td>
          </tr>
        ))}
      </tbody>
    </Box>
  );
}
