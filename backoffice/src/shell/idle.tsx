// Signs out after the time without use that the store's setting says, counted over all tabs of the store, after a warning.
import Button from "@mui/material/Button";
import Dialog from "@mui/material/Dialog";
import DialogActions from "@mui/material/DialogActions";
import DialogContent from "@mui/material/DialogContent";
import DialogTitle from "@mui/material/DialogTitle";
import { useTranslate } from "ra-core";
import { useEffect, useState } from "react";
import { config } from "../config";
import { signOut } from "../data/auth";
import { leave } from "../graphql/session";

const USED = `vitrine.used.${config.store}`;
const EVENTS = ["pointerdown", "keydown", "scroll"] as const;
const WARNING_SECONDS = 60;
let wasIdle = false;

export function endedByIdleness(): boolean {
  return wasIdle;
}

const use = () => localStorage.setItem(USED, String(Date.now()));

// The seconds that are left once they are few.
function useIdleSignOut(minutes: number): number | null {
  const [left, setLeft] = useState<number | null>(null);
  useEffect(() => {
    wasIdle = false;
    const check = () => {
      const seconds = Math.ceil(minutes * 60 - (Date.now() - Number(localStorage.getItem(USED))) / 1000);
      setLeft(seconds <= WARNING_SECONDS ? Math.max(seconds, 0) : null);
      if (seconds > 0) return;
      wasIdle = true;
      clearInterval(timer);
      signOut().catch(leave);
    };
    const timer = setInterval(check, 1000);
    use();
    for (const event of EVENTS) document.addEventListener(event, use, { passive: true });
    return () => {
      clearInterval(timer);
      for (const event of EVENTS) document.removeEventListener(event, use);
    };
  }, [minutes]);
  return left;
}

export function Idle({ minutes }: { minutes: number }) {
  const translate = useTranslate();
  const left = useIdleSignOut(minutes);
  return (
    <Dialog open={left !== null} onClose={use} role="alertdialog" aria-labelledby="idle-title" aria-describedby="idle-text">
      <DialogTitle id="idle-title">{translate("idle.title")}</DialogTitle>
      <DialogContent id="idle-text">{translate("idle.text", { smart_count: left ?? 0 })}</DialogContent>
      <DialogActions><Button variant="contained" autoFocus onClick={use}>{translate("idle.stay")}</Button></DialogActions>
    </Dialog>
  );
}
