// The files of bulk operations: at this server, to which alone the page may connect, or elsewhere, where a link leads.
import { reach, statusError } from "../graphql/errors";

const OWN_PATH = "/files/bulk/";

// The path of a file at this server.
export function ownPath(url: string): string | undefined {
  const { pathname, search } = new URL(url, location.href);
  return pathname.startsWith(OWN_PATH) ? `${pathname}${search}` : undefined;
}

export async function* readLines(path: string): AsyncGenerator<string> {
  const response = await reach(path);
  if (!response.ok || !response.body) throw statusError(response.status);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    yield* lines.filter(Boolean);
  }
  if (rest) yield rest;
}

export function save(content: Blob, name: string): void {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(content), download: name });
  link.click();
  // The browser reads it meanwhile.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
