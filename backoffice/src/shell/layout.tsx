// The frame of all pages: the bar, the menu, the page.
import MenuIcon from "@mui/icons-material/Menu";
import Alert from "@mui/material/Alert";
import AppBar from "@mui/material/AppBar";
import Box from "@mui/material/Box";
import Drawer from "@mui/material/Drawer";
import IconButton from "@mui/material/IconButton";
import Toolbar from "@mui/material/Toolbar";
import Typography from "@mui/material/Typography";
import useMediaQuery from "@mui/material/useMediaQuery";
import { type CoreLayoutProps, useTranslate } from "ra-core";
import { Notification } from "ra-ui-materialui";
import { lazy, Suspense, useEffect, useState } from "react";
import { ErrorBoundary } from "react-error-boundary";
import { Link, useLocation } from "react-router-dom";
import { AskBeforeLeaving } from "../derived/unsaved";
import { AccountMenu } from "./account-menu";
import { useSession } from "./context";
import { Idle } from "./idle";
import { Menu } from "./menu";
import { Problem } from "./problem";
import { Waiting } from "./waiting";

const MENU_WIDTH = 248;
const Live = lazy(() => import("../live/live"));

export function Layout({ children }: CoreLayoutProps) {
  const translate = useTranslate();
  const { store } = useSession();
  const isWide = useMediaQuery("(min-width: 1000px)");
  const [isOpen, setOpen] = useState(false);
  const { pathname } = useLocation();
  useEffect(() => setOpen(false), [pathname]);

  return (
    <Box sx={{ display: "flex", minHeight: "100vh" }}>
      <Box component="a" href="#content" className="visually-hidden">{translate("ra.navigation.skip_nav")}</Box>
      <AppBar position="fixed" color="default" sx={{ bgcolor: "background.paper", zIndex: (theme) => theme.zIndex.drawer + 1 }}>
        <Toolbar sx={{ gap: 1 }}>
          {!isWide && (
            <IconButton edge="start" onClick={() => setOpen(!isOpen)} aria-label={translate("app.menu")} aria-expanded={isOpen}>
              <MenuIcon />
            </IconButton>
          )}
          {store.logo?.url && <Box component="img" src={store.logo.url} alt="" sx={{ height: 32, maxWidth: 96, objectFit: "contain" }} />}
          <Typography component={Link} to="/" noWrap sx={{ flex: 1, fontWeight: 650, color: "text.primary", textDecoration: "none" }}>{store.name}</Typography>
          <AccountMenu />
        </Toolbar>
      </AppBar>
      <Drawer
        variant={isWide ? "permanent" : "temporary"}
        open={isWide || isOpen}
        onClose={() => setOpen(false)}
        sx={{ width: isWide ? MENU_WIDTH : 0, flexShrink: 0 }}
        // On a narrow page it is a dialog, which has a name.
        slotProps={{ paper: { ...(isWide ? {} : { "aria-label": translate("app.menu") }), sx: { width: MENU_WIDTH, pt: 8 } } }}
      >
        <Menu />
      </Drawer>
      <Box component="main" id="content" tabIndex={-1} sx={{ flex: 1, minWidth: 0, overflowX: "clip", pt: { xs: 9, sm: 11 }, pb: 4, px: { xs: 1.5, sm: 3 }, maxWidth: 1400, mx: "auto" }}>
        {store.status !== "A" && <Alert severity="warning" sx={{ mb: 2 }}>{store.maintenance_message || translate("app.maintenance")}</Alert>}
        <ErrorBoundary FallbackComponent={Problem} resetKeys={[pathname]}>
          <Suspense fallback={<Waiting />}>{children}</Suspense>
        </ErrorBoundary>
      </Box>
      <AskBeforeLeaving />
      <Idle minutes={store.browser_idle_minutes} />
      <Suspense><Live /></Suspense>
      <Notification anchorOrigin={{ vertical: "top", horizontal: "center" }} />
    </Box>
  );
}
