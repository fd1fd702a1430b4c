// Where the focus goes when what had it is replaced: into the same line of a list, into the section around it, or to the page's heading.

const CONTROLS = "a[href], button, input, select, textarea";

interface Place {
  element: Element;
  list?: Element | null;
  index: number;
  section: Element | null;
}

let last: Place | undefined;

function remember(element: Element): void {
  const line = element.closest("li");
  const list = line?.parentElement;
  last = { element, list, index: list ? [...list.children].indexOf(line!) : 0, section: element.closest("section, aside") };
}

const isLost = () => document.activeElement === document.body;

function restore(): void {
  if (!last || last.element.isConnected || !isLost()) return;
  const { list, index, section } = last;
  const line = list?.isConnected ? list.children[Math.min(index, list.children.length - 1)] : null;
  const near = line ?? (section?.isConnected ? section : null);
  (near?.querySelector<HTMLElement>(CONTROLS) ?? document.querySelector<HTMLElement>("main h1"))?.focus();
}

/** Keep the focus near where it was, unless a page takes it. */
export function keepFocus(): void {
  document.addEventListener("focusin", ({ target }) => remember(target as Element));
  // Pages take it after they are painted.
  new MutationObserver(() => setTimeout(restore, 100)).observe(document.body, { childList: true, subtree: true });
}

/** Return what moves the focus from a step that is done to the heading of the next one, once that is shown. */
export function nextStep(): () => void {
  const step = document.activeElement?.closest("section");
  return () =>
    void requestAnimationFrame(() => {
      // On a slow machine `restore` was first, and gave it to what the step shows now.
      if (isLost() || step?.contains(document.activeElement)) step?.nextElementSibling?.querySelector("h2")?.focus();
    });
}
