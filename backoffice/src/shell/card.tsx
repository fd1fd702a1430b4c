// The frame of the pages before the sign-in.
import Box from "@mui/material/Box";
import Paper from "@mui/material/Paper";
import Typography from "@mui/material/Typography";
import type { FormEvent, ReactNode } from "react";
import { config } from "../config";

export const CARD_TITLE = "card-title";

interface Props {
  title: string;
  onSubmit: () => void;
  children: ReactNode;
}

export function Card({ title, onSubmit, children }: Props) {
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSubmit();
  };
  return (
    <Box component="main" sx={{ display: "grid", placeItems: "center", minHeight: "100vh", p: 2 }}>
      <Paper component="form" onSubmit={submit} noValidate sx={{ p: { xs: 3, sm: 4 }, width: "100%", maxWidth: 400, display: "grid", gap: 2 }}>
        <Box>
          <Typography color="text.secondary" sx={{ fontWeight: 600 }}>{config.name}</Typography>
          <Typography id={CARD_TITLE} variant="h1">{title}</Typography>
        </Box>
        {children}
      </Paper>
    </Box>
  );
}
