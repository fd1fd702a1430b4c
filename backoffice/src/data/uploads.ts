// Media files: sent to the address that the server signs, as far as that is at this server, to which alone the page may connect.
import { MediaUploadCompleteDocument, MediaUploadCreateDocument } from "../generated";
import { execute, upload } from "../graphql/client";
import { ServerError } from "../graphql/errors";
import { errorText } from "../texts/errors";

export interface Uploaded {
  id: string;
  url: string;
}

const OWN_PATH = "/files/media/";
const IN_A_FORM = "mutation Upload($file: Upload!) { media: media_upload(file: $file) { id url } }";
// Files are at an object storage.
let isElsewhere = false;

async function uploadMedia(file: File, onProgress: (share: number) => void): Promise<Uploaded> {
  if (isElsewhere) return inForm(file);
  const input = { file_name: file.name, mime_type: file.type || "application/octet-stream", bytes: file.size };
  const { media_upload_create: signed } = await execute(MediaUploadCreateDocument, { input });
  const { pathname, search } = new URL(signed.url, location.href);
  isElsewhere = !pathname.startsWith(OWN_PATH);
  if (isElsewhere) return inForm(file);
  await put(`${pathname}${search}`, signed.headers as Record<string, string>, file, onProgress);
  return (await execute(MediaUploadCompleteDocument, { media_id: signed.media_id })).media_upload_complete;
}

// What is dropped may be any file, and a store keeps others too.
export async function uploadPicture(file: File, onProgress: (share: number) => void): Promise<Uploaded> {
  if (!file.type.startsWith("image/")) throw new ServerError("mime_type_invalid", errorText("mime_type_invalid", "this is no picture"), 400);
  return uploadMedia(file, onProgress);
}

async function inForm(file: File): Promise<Uploaded> {
  return (await upload<{ media: Uploaded }>(IN_A_FORM, "file", file)).media;
}

// `fetch` doesn't say how much was sent.
export function put(path: string, headers: Record<string, string>, content: Blob, onProgress: (share: number) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const refuse = (code: string) => reject(new ServerError(code, errorText(code, code), request.status));
    request.open("PUT", path);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.upload.addEventListener("progress", ({ loaded, total }) => onProgress(loaded / total));
    request.addEventListener("load", () => (request.status < 300 ? resolve() : refuse(request.status === 413 ? "too_large" : "INTERNAL")));
    request.addEventListener("error", () => refuse("UNREACHABLE"));
    request.send(content);
  });
}
