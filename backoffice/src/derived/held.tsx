// What is being sent takes no more input, which the answer would replace. Afterwards the focus is where it was.
import Box from "@mui/material/Box";
import { type ReactNode, useLayoutEffect, useRef } from "react";

export function Held({ isHeld, children }: { isHeld: boolean; children: ReactNode }) {
  const focused = useRef<Element | null>(null);
  useLayoutEffect(() => {
    if (isHeld) focused.current = document.activeElement;
    else if (focused.current instanceof HTMLElement && document.activeElement?.contains(focused.current)) focused.current.focus();
  }, [isHeld]);
  return <Box inert={isHeld} sx={{ display: "contents", "&[inert] > *": { opacity: 0.6 } }}>{children}</Box>;
}
