// Pictures of a record: dropped or chosen files are uploaded at once, and saved with the record. The first one is the main picture.
import AddPhoto from "@mui/icons-material/AddPhotoAlternateOutlined";
import ArrowBack from "@mui/icons-material/ArrowBack";
import ArrowForward from "@mui/icons-material/ArrowForward";
import Delete from "@mui/icons-material/DeleteOutlined";
import Alert from "@mui/material/Alert";
import Box from "@mui/material/Box";
import ButtonBase from "@mui/material/ButtonBase";
import CircularProgress from "@mui/material/CircularProgress";
import IconButton from "@mui/material/IconButton";
import TextField from "@mui/material/TextField";
import { useInput, useTranslate } from "ra-core";
import { type DragEvent, useRef, useState } from "react";
import { upload } from "../graphql/client";
import { Picture } from "./value";

interface Image {
  media_id?: string | null;
  url?: string | null;
  alt?: string;
}

interface Props {
  source: string;
  label: string;
  isList: boolean;
}

const UPLOAD = "mutation Upload($file: Upload!) { media: media_upload(file: $file) { id url } }";

async function uploaded(file: File): Promise<Image> {
  const { media } = await upload<{ media: { id: string; url: string } }>(UPLOAD, "file", file);
  return { media_id: media.id, url: media.url, alt: "" };
}

export function PicturesInput({ source, label, isList }: Props) {
  const translate = useTranslate();
  const { field, fieldState } = useInput<Image | Image[] | null>({ source });
  const [pending, setPending] = useState(0);
  const [problem, setProblem] = useState("");
  const chooser = useRef<HTMLInputElement>(null);
  const images: Image[] = Array.isArray(field.value) ? field.value : field.value ? [field.value] : [];

  const set = (changed: Image[]) => field.onChange(isList ? changed : (changed.at(-1) ?? null));
  const add = async (files: Iterable<File>) => {
    const chosen = [...files].slice(0, isList ? undefined : 1);
    setPending(chosen.length);
    setProblem("");
    try {
      set([...images, ...(await Promise.all(chosen.map(uploaded)))]);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    } finally {
      setPending(0);
    }
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    void add(event.dataTransfer.files);
  };
  const move = (from: number, to: number) => {
    const changed = [...images];
    changed.splice(to, 0, ...changed.splice(from, 1));
    set(changed);
  };
  const describe = (index: number, alt: string) => set(images.map((image, each) => (each === index ? { ...image, alt } : image)));

  return (
    <Box component="fieldset" onDrop={drop} onDragOver={(event) => event.preventDefault()} sx={{ border: "1px solid", borderColor: "divider", borderRadius: 2, p: 2, m: 0, mb: 2, width: "100%", minWidth: 0 }}>
      <Box component="legend" sx={{ px: 0.5, fontSize: "0.85rem", color: "text.secondary" }}>{label}</Box>
      {(problem || fieldState.error) && <Alert severity="error" sx={{ mb: 1 }}>{problem || fieldState.error?.message}</Alert>}
      <Box sx={{ display: "flex", flexWrap: "wrap", gap: 2 }}>
        {images.map((image, index) => (
          <Box key={image.media_id ?? image.url ?? index} sx={{ width: 148 }}>
            <Picture url={image.url ?? ""} alt={image.alt ?? ""} size={148} />
            <Box sx={{ display: "flex", justifyContent: "space-between" }}>
              <IconButton disabled={index === 0} onClick={() => move(index, index - 1)} aria-label={translate("ra.action.move_up")}><ArrowBack fontSize="small" /></IconButton>
              <IconButton onClick={() => set(images.filter((_, each) => each !== index))} aria-label={translate("ra.action.remove")}><Delete fontSize="small" /></IconButton>
              <IconButton disabled={index === images.length - 1} onClick={() => move(index, index + 1)} aria-label={translate("ra.action.move_down")}><ArrowForward fontSize="small" /></IconButton>
            </Box>
            <TextField value={image.alt ?? ""} onChange={(event) => describe(index, event.target.value)} label={translate("form.alt")} fullWidth />
          </Box>
        ))}
        <ButtonBase
          onClick={() => chooser.current?.click()}
          sx={{ width: 148, height: 148, border: "2px dashed", borderColor: "divider", borderRadius: 2, flexDirection: "column", gap: 1, p: 1, textAlign: "center", color: "text.secondary", fontSize: "0.8rem" }}
        >
          {pending ? <CircularProgress size={28} aria-label={translate("app.loading")} /> : <AddPhoto />}
          {translate(isList ? "ra.input.image.upload_several" : "ra.input.image.upload_single")}
        </ButtonBase>
        <input ref={chooser} type="file" accept="image/*" multiple={isList} hidden aria-label={label} onChange={(event) => void add(event.target.files ?? [])} />
      </Box>
    </Box>
  );
}
