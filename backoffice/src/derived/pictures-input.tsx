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
import { uploadPicture } from "../data/uploads";
import { ServerError, wholeText } from "../graphql/errors";
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

const SIZE = 128;

// Of a file, whatever field of the upload it is.
const reasonOf = (error: unknown) => (error instanceof ServerError && Object.values(error.fields).join(" ")) || wholeText(error);

// Sends several files at a time; `share` is how much of all of them was sent, while they are.
function useUploads(add: (images: Image[]) => void) {
  const [share, setShare] = useState<number | null>(null);
  const [problem, setProblem] = useState("");
  const send = async (files: readonly File[]) => {
    const sent = files.map(() => 0);
    const progress = (index: number) => (part: number) => {
      sent[index] = part;
      setShare(sent.reduce((sum, each) => sum + each, 0) / files.length);
    };
    setShare(0);
    setProblem("");
    const results = await Promise.allSettled(files.map((file, index) => uploadPicture(file, progress(index))));
    // Those that arrived stay, in the order in which they were chosen.
    add(results.flatMap((result) => (result.status === "fulfilled" ? [{ media_id: result.value.id, url: result.value.url, alt: "" }] : [])));
    const refusals = results.flatMap((result, index) => (result.status === "rejected" ? [`${files[index]?.name ?? ""}: ${reasonOf(result.reason)}`] : []));
    setProblem(refusals.join(" "));
    setShare(null);
  };
  return { share, problem, send };
}

export function PicturesInput({ source, label, isList }: Props) {
  const translate = useTranslate();
  const { field, fieldState } = useInput<Image | Image[] | null>({ source });
  const images: Image[] = Array.isArray(field.value) ? field.value : field.value ? [field.value] : [];
  // What was changed while files were sent counts too.
  const latest = useRef(images);
  latest.current = images;
  const set = (changed: Image[]) => field.onChange(isList ? changed : (changed.at(-1) ?? null));
  // Of the pictures, or of a part of one.
  const error = fieldState.error as { message?: string; media_id?: { message?: string } } | undefined;
  const refusal = error?.message ?? error?.media_id?.message;
  const { share, problem, send } = useUploads((added) => added.length && set([...latest.current, ...added]));
  const [dragged, setDragged] = useState<number | null>(null);
  const [isOver, setOver] = useState(false);

  const add = (files: Iterable<File>) => {
    const chosen = [...files].slice(0, isList ? undefined : 1);
    if (chosen.length) void send(chosen);
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    add(event.dataTransfer.files);
  };
  const over = (event: DragEvent) => {
    event.preventDefault();
    setOver(dragged === null);
  };
  const move = (from: number, to: number) => {
    const changed = [...images];
    changed.splice(to, 0, ...changed.splice(from, 1));
    set(changed);
  };
  const dropOn = (index: number) => {
    if (dragged !== null) move(dragged, index);
    setDragged(null);
  };

  return (
    <Box component="fieldset" data-pictures onDrop={drop} onDragOver={over} onDragLeave={() => setOver(false)} sx={{ border: isOver ? "2px dashed" : "1px solid", borderColor: isOver ? "primary.main" : "divider", borderRadius: 2, p: 2, m: 0, mb: 2, width: "100%", minWidth: 0 }}>
      <Box component="legend" sx={{ px: 0.5, fontSize: "0.85rem", color: "text.secondary" }}>{label}</Box>
      {(problem || refusal) && <Alert severity="error" sx={{ mb: 1 }}>{problem || refusal}</Alert>}
      {images.length > 1 && <Box sx={{ fontSize: "0.85rem", color: "text.secondary", mb: 1, display: { xs: "none", md: "block" } }}>{translate("form.drag")}</Box>}
      <Box sx={{ display: "grid", gap: 2, gridTemplateColumns: `repeat(auto-fill, minmax(min(${SIZE}px, 100%), 1fr))`, maxWidth: "100%" }}>
        {images.map((image, index) => (
          <OnePicture
            key={image.media_id ?? image.url ?? index} image={image} index={index} count={images.length} isDragged={dragged === index}
            onDrag={setDragged} onDrop={dropOn} onMove={move}
            onRemove={() => set(images.filter((_, each) => each !== index))}
            onDescribe={(alt) => set(images.map((each, position) => (position === index ? { ...each, alt } : each)))}
          />
        ))}
        <Chooser label={label} isList={isList} share={share} onChoose={add} />
      </Box>
    </Box>
  );
}

interface PictureProps {
  image: Image;
  index: number;
  count: number;
  isDragged: boolean;
  onDrag: (index: number | null) => void;
  onDrop: (index: number) => void;
  onMove: (from: number, to: number) => void;
  onRemove: () => void;
  onDescribe: (alt: string) => void;
}

function OnePicture({ image, index, count, isDragged, onDrag, onDrop, onMove, onRemove, onDescribe }: PictureProps) {
  const translate = useTranslate();
  return (
    <Box role="group" aria-label={`${index + 1}. ${image.alt ?? ""}`} data-picture={index} onDrop={() => onDrop(index)} sx={{ minWidth: 0, opacity: isDragged ? 0.5 : 1 }}>
      <Box draggable={count > 1} onDragStart={() => onDrag(index)} onDragEnd={() => onDrag(null)} sx={{ width: SIZE, maxWidth: "100%", cursor: count > 1 ? "grab" : "default" }}>
        <Picture url={image.url ?? ""} alt={image.alt ?? ""} size={SIZE} />
      </Box>
      <Box sx={{ display: "flex", justifyContent: "space-between", maxWidth: SIZE }}>
        <IconButton disabled={index === 0} onClick={() => onMove(index, index - 1)} aria-label={translate("ra.action.move_up")}><ArrowBack fontSize="small" /></IconButton>
        <IconButton onClick={onRemove} aria-label={translate("ra.action.remove")}><Delete fontSize="small" /></IconButton>
        <IconButton disabled={index === count - 1} onClick={() => onMove(index, index + 1)} aria-label={translate("ra.action.move_down")}><ArrowForward fontSize="small" /></IconButton>
      </Box>
      <TextField value={image.alt ?? ""} onChange={(event) => onDescribe(event.target.value)} label={translate("form.alt")} fullWidth />
    </Box>
  );
}

function Chooser({ label, isList, share, onChoose }: { label: string; isList: boolean; share: number | null; onChoose: (files: Iterable<File>) => void }) {
  const translate = useTranslate();
  const input = useRef<HTMLInputElement>(null);
  const percent = Math.round((share ?? 0) * 100);
  return (
    <Box>
      <ButtonBase
        onClick={() => input.current?.click()}
        sx={{ width: SIZE, height: SIZE, maxWidth: "100%", border: "2px dashed", borderColor: "divider", borderRadius: 2, flexDirection: "column", gap: 1, p: 1, textAlign: "center", color: "text.secondary", fontSize: "0.8rem" }}
      >
        {share === null ? <AddPhoto /> : <CircularProgress size={28} {...(percent > 0 && percent < 100 ? { variant: "determinate", value: percent } : {})} aria-label={translate("app.loading")} />}
        <span role="status">{share === null ? translate(isList ? "ra.input.image.upload_several" : "ra.input.image.upload_single") : translate("form.progress", { percent })}</span>
      </ButtonBase>
      <input ref={input} type="file" accept="image/*" multiple={isList} hidden aria-label={label} onChange={(event) => onChoose(event.target.files ?? [])} />
    </Box>
  );
}
