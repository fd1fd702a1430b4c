// The frame of a page: its title, also the document's, and its actions.
import Box from "@mui/material/Box";
import Typography from "@mui/material/Typography";
import { type ReactNode, useEffect } from "react";
import { useSession } from "./context";

interface Props {
  title: string;
  actions?: ReactNode;
  children: ReactNode;
}

export function Page({ title, actions, children }: Props) {
  const { store } = useSession();
  useEffect(() => {
    document.title = `${title} · ${store.name}`;
  }, [title, store.name]);
  return (
    <Box sx={{ display: "grid", gap: 2, gridTemplateColumns: "minmax(0, 1fr)" }}>
      <Box sx={{ display: "flex", flexWrap: "wrap", gap: 1, alignItems: "center", minHeight: 44 }}>
        <Typography variant="h1" sx={{ flex: "1 1 16rem", overflowWrap: "anywhere" }}>{title}</Typography>
        {actions}
      </Box>
      {children}
    </Box>
  );
}
