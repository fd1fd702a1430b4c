// What pages have in common: waiting, refusals, absent records.

import type { ComponentChildren } from "preact";
import type { Refusal } from "../api/errors";
import type { Read } from "../api/requests";
import { Title } from "../router";

/** Show a page once its data is there; `children` returns null for an absent record. */
export function Loaded<Data>({ read, children }: { read: Read<Data>; children: (data: Data) => ComponentChildren }) {
  if (read.refusal) return <Failed refusal={read.refusal} retry={read.reload} />;
  if (read.data === undefined) return <p class="loading" role="status">Carregando…</p>;
  return <div aria-busy={read.isLoading}>{children(read.data) ?? <NotFound />}</div>;
}

export function NotFound() {
  return (
    <>
      <Title name="Página não encontrada">Página não encontrada</Title>
      <p>
        O endereço mudou ou não existe. <a href="/">Voltar para o início</a>
      </p>
    </>
  );
}

function Failed({ refusal, retry }: { refusal: Refusal; retry: () => Promise<void> }) {
  return (
    <>
      <Title name="Erro">Não foi possível abrir a página</Title>
      <p role="alert">{refusal.message}</p>
      <button onClick={() => void retry()}>Tentar de novo</button>
    </>
  );
}

/** Show HTML that an administrator wrote: known elements without attributes, links with safe addresses. */
export function Html({ text }: { text: string }) {
  return <div class="prose">{clean(new DOMParser().parseFromString(text, "text/html").body)}</div>;
}

const ELEMENTS = new Set(["p", "h2", "h3", "h4", "ul", "ol", "li", "strong", "b", "em", "i", "br", "blockquote", "table", "tbody", "tr", "th", "td"]);
const DROPPED = new Set(["script", "style", "template", "iframe", "object", "svg", "math"]);

function clean(parent: Node): ComponentChildren[] {
  return [...parent.childNodes].map((node) => {
    if (!(node instanceof HTMLElement)) return node instanceof Text ? node.data : null;
    const name = node.localName;
    if (DROPPED.has(name)) return null;
    const children = clean(node);
    if (name === "a" && /^(https?:|mailto:|\/)/.test(node.getAttribute("href") ?? "")) return <a href={node.getAttribute("href")!}>{children}</a>;
    if (name === "br") return <br />;
    const Element = name as "p";
    return ELEMENTS.has(name) ? <Element>{children}</Element> : children;
  });
}
