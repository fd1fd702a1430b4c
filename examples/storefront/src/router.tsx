// Client-side routes: links are plain <a href>, a click on one of ours changes the page without a request.

import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { config } from "./config";

const read = () => new URL(window.location.href);

export const place = signal(read());

let isFirst = true;
let scrollTop = 0;

/** Go to a path of the shop. `replace` changes the address only: filters and steps of the page in front of the customer. */
export function navigate(to: string, replace = false): void {
  if (replace) history.replaceState(history.state, "", to);
  else {
    history.replaceState({ scrollTop: window.scrollY }, "");
    history.pushState(null, "", to);
    scrollTop = 0;
    isFirst = false;
  }
  place.value = read();
}

export function startRouter(): void {
  history.scrollRestoration = "manual";
  addEventListener("popstate", (event) => {
    scrollTop = event.state?.scrollTop ?? 0;
    isFirst = false;
    place.value = read();
  });
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = (event.target as Element).closest("a");
    if (!link || link.target || link.origin !== window.location.origin || link.hasAttribute("download")) return;
    // Fragments of this page are the browser's: the skip link.
    if (link.hash && link.pathname === window.location.pathname && link.pathname !== "/pedido") return;
    event.preventDefault();
    navigate(link.href);
  });
}

const description = document.querySelector<HTMLMetaElement>("meta[name=description]")!;

interface TitleProps {
  children: ComponentChildren;
  name: string;
  /** For search engines; without one it is the store's name. */
  about?: string | null;
}

/** The heading of a page: names and describes the document, and takes the focus when the customer came here from another page. */
export function Title({ children, name, about }: TitleProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = name === config.name ? name : `${name} · ${config.name}`;
    description.content = about || config.name;
  }, [name, about]);
  useEffect(() => {
    if (isFirst) return;
    heading.current?.focus({ preventScroll: true });
    window.scrollTo(0, scrollTop);
  }, []);
  return (
    <h1 ref={heading} tabIndex={-1}>
      {children}
    </h1>
  );
}
