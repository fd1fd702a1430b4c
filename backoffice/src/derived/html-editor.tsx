// The text of HTML as it will look, written with buttons and the keyboard.
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import TextField from "@mui/material/TextField";
import { type Editor, EditorContent, useEditor, useEditorState } from "@tiptap/react";
import { useTranslate } from "ra-core";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { config } from "../config";
import { EXTENSIONS, written } from "./html";

interface Props {
  label: string;
  html: string;
  isInvalid: boolean;
  onChange: (html: string) => void;
  onBlur: () => void;
  // What else is in the row of buttons.
  children: ReactNode;
}

const TOOLS = [
  ["bold", (editor: Editor) => editor.chain().focus().toggleBold().run(), (editor: Editor) => editor.isActive("bold")],
  ["italic", (editor: Editor) => editor.chain().focus().toggleItalic().run(), (editor: Editor) => editor.isActive("italic")],
  ["heading", (editor: Editor) => editor.chain().focus().toggleHeading({ level: 3 }).run(), (editor: Editor) => editor.isActive("heading")],
  ["list", (editor: Editor) => editor.chain().focus().toggleBulletList().run(), (editor: Editor) => editor.isActive("bulletList")],
  ["numbered", (editor: Editor) => editor.chain().focus().toggleOrderedList().run(), (editor: Editor) => editor.isActive("orderedList")],
] as const;

const LOOK = {
  "& .ProseMirror": { border: "1px solid", borderColor: "rgba(0, 0, 0, 0.4)", borderRadius: 1, px: 1.5, py: 1, minHeight: 120, maxHeight: 460, overflow: "auto", overflowWrap: "anywhere" },
  "& .ProseMirror:focus": { outline: "2px solid", outlineColor: "primary.main" },
  "& .ProseMirror[aria-invalid=true]": { borderColor: "error.main" },
  "& .ProseMirror p": { my: 0.75 },
  "& .ProseMirror img": { maxWidth: "100%", height: "auto" },
};

export function HtmlEditor({ label, html, isInvalid, onChange, onBlur, children }: Props) {
  const translate = useTranslate();
  const shown = useRef(html);
  const [link, setLink] = useState<string | null>(null);
  const editor = useEditor({
    extensions: EXTENSIONS,
    content: html,
    injectNonce: config.nonce,
    editorProps: { attributes: { role: "textbox", "aria-multiline": "true", "aria-label": label, "aria-invalid": String(isInvalid) } },
    onUpdate: ({ editor: changed }) => {
      shown.current = changed.isEmpty ? "" : written(changed.getHTML());
      onChange(shown.current);
    },
    onBlur,
  });
  useEffect(() => {
    if (html === shown.current) return;
    shown.current = html;
    editor.commands.setContent(html, { emitUpdate: false });
  }, [editor, html]);
  const active = useEditorState({ editor, selector: ({ editor: present }) => [...TOOLS.map(([, , isActive]) => isActive(present)), present.isActive("link")] });

  return (
    <Box sx={{ display: "grid", gap: 0.5, ...LOOK }}>
      <Box component="span" aria-hidden sx={{ fontSize: "0.8rem", color: isInvalid ? "error.main" : "text.secondary" }}>{label}</Box>
      <Box role="toolbar" aria-label={`${translate("html.tools")}: ${label}`} sx={{ display: "flex", flexWrap: "wrap", gap: 0.5 }}>
        {TOOLS.map(([name, run], place) => <Tool key={name} name={name} isActive={active[place] ?? false} onClick={() => run(editor)} />)}
        <Tool name="link" isActive={active[TOOLS.length] ?? false} onClick={() => setLink(String(editor.getAttributes("link").href ?? "https://"))} />
        {children}
      </Box>
      {link !== null && <LinkAddress editor={editor} address={link} onClose={() => setLink(null)} />}
      <EditorContent editor={editor} />
    </Box>
  );
}

function Tool({ name, isActive, onClick }: { name: string; isActive: boolean; onClick: () => void }) {
  const translate = useTranslate();
  return <Button size="small" variant={isActive ? "outlined" : "text"} aria-pressed={isActive} onClick={onClick}>{translate(`html.${name}`)}</Button>;
}

function LinkAddress({ editor, address, onClose }: { editor: Editor; address: string; onClose: () => void }) {
  const translate = useTranslate();
  const [text, setText] = useState(address);
  const apply = () => {
    const href = text.trim();
    const chosen = editor.chain().focus().extendMarkRange("link");
    if (!href) chosen.unsetLink().run();
    // Where no text is chosen, the address is the text.
    else if (editor.state.selection.empty && !editor.isActive("link")) chosen.insertContent({ type: "text", text: href, marks: [{ type: "link", attrs: { href } }] }).run();
    else chosen.setLink({ href }).run();
    onClose();
  };
  // Not a form, which would be inside of another.
  return (
    <Box sx={{ display: "flex", gap: 1, my: 0.5 }}>
      <TextField
        label={translate("html.address")} value={text} onChange={(event) => setText(event.target.value)} fullWidth autoFocus
        onKeyDown={(event) => {
          if (event.key === "Escape") onClose();
          if (event.key !== "Enter") return;
          event.preventDefault();
          apply();
        }}
      />
      <Button variant="outlined" onClick={apply}>{translate("html.apply")}</Button>
    </Box>
  );
}
