import Box from "@mui/material/Box";
import CircularProgress from "@mui/material/CircularProgress";
import { i18nProvider } from "../texts";

export function Waiting() {
  return (
    <Box component="main" role="status" aria-busy="true" sx={{ display: "grid", placeItems: "center", minHeight: "60vh" }}>
      <CircularProgress aria-label={i18nProvider.translate("app.loading")} />
    </Box>
  );
}
