// HTML as its source, with what it becomes beside it. Nothing of it runs, and it can't change the page around it.
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import TextField from "@mui/material/TextField";
import createPurifier from "dompurify";
import { useTranslate } from "ra-core";
import { type ReactNode, useId, useMemo, useRef } from "react";

interface Props {
  label: string;
  name: string;
  html: string;
  isInvalid: boolean;
  note: ReactNode;
  onChange: (html: string) => void;
  onBlur: () => void;
  // What else is in the row of buttons.
  children: ReactNode;
}

// What a button puts around the chosen text.
const MARKS = [
  ["bold", "<strong>", "</strong>"],
  ["italic", "<em>", "</em>"],
  ["heading", "<h3>", "</h3>"],
  ["paragraph", "<p>", "</p>"],
  ["list", "<ul>\n  <li>", "</li>\n</ul>"],
  ["link", '<a href="https://">', "</a>"],
] as const;

const purifier = createPurifier(window);
// Links open beside the form, which stays as it is.
purifier.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName !== "A") return;
  node.setAttribute("target", "_blank");
  node.setAttribute("rel", "noopener noreferrer");
});
const RULES = {
  USE_PROFILES: { html: true },
  FORBID_TAGS: ["style", "form", "input", "button", "textarea", "select", "dialog", "audio", "video", "source"],
  FORBID_ATTR: ["style", "class", "id", "name", "srcset", "tabindex", "autofocus", "popover"],
};

export function sanitized(html: string): string {
  return purifier.sanitize(html, RULES);
}

export function HtmlSource({ label, name: field, html, isInvalid, note, onChange, onBlur, children }: Props) {
  const translate = useTranslate();
  const id = useId();
  const input = useRef<HTMLTextAreaElement>(null);
  const preview = useMemo(() => ({ __html: sanitized(html) }), [html]);
  const surround = (before: string, after: string) => {
    const area = input.current;
    if (!area) return;
    const { selectionStart: start, selectionEnd: end } = area;
    onChange(`${html.slice(0, start)}${before}${html.slice(start, end)}${after}${html.slice(end)}`);
    requestAnimationFrame(() => {
      area.focus();
      area.setSelectionRange(start + before.length, end + before.length);
    });
  };
  return (
    <Box sx={{ display: "grid", gap: 1, gridTemplateColumns: { xs: "minmax(0, 1fr)", xl: "repeat(2, minmax(0, 1fr))" } }}>
      <Box sx={{ display: "grid", gap: 0.5, alignContent: "start" }}>
        <Box role="toolbar" aria-label={`${translate("html.tools")}: ${label}`} aria-controls={id} sx={{ display: "flex", flexWrap: "wrap", gap: 0.5 }}>
          {MARKS.map(([name, before, after]) => <Button key={name} size="small" onClick={() => surround(before, after)}>{translate(`html.${name}`)}</Button>)}
          {children}
        </Box>
        <TextField
          id={id} label={label} name={field} value={html} onChange={(event) => onChange(event.target.value)} onBlur={onBlur} inputRef={input} multiline minRows={4} maxRows={18} fullWidth
          error={isInvalid} helperText={note}
        />
      </Box>
      <Box
        component="section" aria-label={`${translate("html.preview")}: ${label}`} tabIndex={0}
        sx={{ border: "1px dashed", borderColor: "divider", borderRadius: 1, p: 1.5, maxHeight: 460, overflow: "auto", overflowWrap: "anywhere", contain: "content", "& img": { maxWidth: "100%", height: "auto" }, "& > :first-of-type": { mt: 0 }, "& > :last-child": { mb: 0 } }}
      >
        {html ? <div data-preview="" dangerouslySetInnerHTML={preview} /> : <Box sx={{ color: "text.secondary" }}>{translate("html.preview")}</Box>}
      </Box>
    </Box>
  );
}
