import Box from "@mui/material/Box";
import type { ReactNode } from "react";

// The inputs of the members of an object, as one group.
export function Members({ label, children }: { label: string; children: ReactNode }) {
  return (
    <Box component="fieldset" sx={{ border: "1px solid", borderColor: "divider", borderRadius: 2, px: 2, py: 1, m: 0, width: "100%", minWidth: 0 }}>
      <Box component="legend" sx={{ px: 0.5, fontSize: "0.85rem", color: "text.secondary" }}>{label}</Box>
      {children}
    </Box>
  );
}
