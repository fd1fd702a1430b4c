// The page: what is loaded first is the sign-in; the rest comes with the session.
import createCache from "@emotion/cache";
import { CacheProvider } from "@emotion/react";
import CssBaseline from "@mui/material/CssBaseline";
import { ThemeProvider } from "@mui/material/styles";
import { createRoot } from "react-dom/client";
import { config } from "./config";
import { Gate } from "./shell/gate";
import { theme } from "./shell/theme";
import "./styles.css";

// The style sheets of components carry the nonce of the page's Content-Security-Policy.
const cache = createCache({ key: "css", nonce: config.nonce });
const root = document.getElementById("backoffice");
if (root) {
  createRoot(root).render(
    <CacheProvider value={cache}>
      <ThemeProvider theme={theme}>
        <CssBaseline />
        <Gate />
      </ThemeProvider>
    </CacheProvider>,
  );
}
