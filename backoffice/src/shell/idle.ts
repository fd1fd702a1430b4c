// Signs out after the time without use that the store's setting says, counted over all tabs.
import { useEffect } from "react";
import { signOut } from "../data/auth";

const USED = "vitrine.used";
const EVENTS = ["pointerdown", "keydown", "scroll"] as const;
const CHECK_MS = 15_000;
let wasIdle = false;

export function endedByIdleness(): boolean {
  return wasIdle;
}

export function useIdleSignOut(minutes: number): void {
  useEffect(() => {
    wasIdle = false;
    const use = () => localStorage.setItem(USED, String(Date.now()));
    const check = () => {
      if (Date.now() - Number(localStorage.getItem(USED)) < minutes * 60_000) return;
      wasIdle = true;
      void signOut();
    };
    use();
    for (const event of EVENTS) document.addEventListener(event, use, { passive: true });
    const timer = setInterval(check, CHECK_MS);
    return () => {
      clearInterval(timer);
      for (const event of EVENTS) document.removeEventListener(event, use);
    };
  }, [minutes]);
}
