// What was typed and isn't saved: it is asked for before the page is left, and isn't read again.
import { type Query, useQueryClient } from "@tanstack/react-query";
import { useTranslate } from "ra-core";
import { useEffect } from "react";
import { useBlocker } from "react-router-dom";

const unsaved = new Set<object>();
// Those of them that are the form of a record.
const forms = new Set<object>();
const SETTLE_MS = 100;
// Of the reading of a record.
export const isRecord = ({ queryKey }: Pick<Query, "queryKey">) => queryKey[1] === "getOne";

// Shown while something is unsaved.
export function Unsaved({ isForm = false }: { isForm?: boolean }) {
  useEffect(() => {
    const part = {};
    unsaved.add(part);
    if (isForm) forms.add(part);
    return () => {
      unsaved.delete(part);
      forms.delete(part);
    };
  }, [isForm]);
  return null;
}

// For all that is unsaved on a page: a router asks one blocker.
export function AskBeforeLeaving() {
  const translate = useTranslate();
  const blocker = useBlocker(({ currentLocation, nextLocation }) => unsaved.size > 0 && currentLocation.pathname !== nextLocation.pathname);
  useEffect(() => {
    if (blocker.state !== "blocked") return undefined;
    const decide = () => {
      if (!unsaved.size || window.confirm(translate("ra.message.unsaved_changes"))) blocker.proceed();
      else blocker.reset();
    };
    // The form of a record that was deleted is empty a moment later.
    const timer = setTimeout(decide, SETTLE_MS);
    return () => clearTimeout(timer);
  }, [blocker, translate]);
  useEffect(() => {
    const ask = (event: BeforeUnloadEvent) => {
      if (unsaved.size) event.preventDefault();
    };
    window.addEventListener("beforeunload", ask);
    return () => window.removeEventListener("beforeunload", ask);
  }, []);
  return null;
}

// Reads again what is shown, but no record whose form has something unsaved, which would be replaced.
export function useReread(): () => void {
  const client = useQueryClient();
  return () => void client.invalidateQueries({ predicate: (query) => !forms.size || !isRecord(query) });
}
