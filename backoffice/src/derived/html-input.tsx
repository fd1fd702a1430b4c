// HTML as it will look or as its source. It is shown as its source where the editor would lose something of it.
import Alert from "@mui/material/Alert";
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import FormHelperText from "@mui/material/FormHelperText";
import { useInput, useTranslate } from "ra-core";
import { useRef, useState } from "react";
import { isExpressible } from "./html";
import { HtmlEditor } from "./html-editor";
import { HtmlSource } from "./html-source";

interface Props {
  source: string;
  label: string;
  helperText: string | false;
}

export default function HtmlInput({ source, label, helperText }: Props) {
  const translate = useTranslate();
  const { field, fieldState } = useInput({ source });
  const html = typeof field.value === "string" ? field.value : "";
  const edited = useRef<string | null>(null);
  const [isSource, setSource] = useState(false);
  const canEdit = html === edited.current || isExpressible(html);
  const note = fieldState.error?.message ?? helperText;
  const toggle = (
    <Button size="small" aria-pressed={isSource || !canEdit} disabled={!canEdit} onClick={() => setSource(!isSource)}>{translate("html.source")}</Button>
  );

  if (isSource || !canEdit) {
    return (
      <Box sx={{ display: "grid", gap: 0.5 }}>
        {!canEdit && <Alert severity="info" sx={{ py: 0 }}>{translate("html.source_only")}</Alert>}
        <HtmlSource label={label} name={field.name} html={html} isInvalid={fieldState.invalid} note={note} onChange={field.onChange} onBlur={field.onBlur}>{toggle}</HtmlSource>
      </Box>
    );
  }
  const change = (changed: string) => {
    edited.current = changed;
    field.onChange(changed);
  };
  return (
    <div data-html={field.name}>
      <HtmlEditor label={label} html={html} isInvalid={fieldState.invalid} onChange={change} onBlur={field.onBlur}>{toggle}</HtmlEditor>
      {note && <FormHelperText error={fieldState.invalid}>{note}</FormHelperText>}
    </div>
  );
}
