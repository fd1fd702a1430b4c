import { createTheme } from "@mui/material/styles";
import { i18nProvider } from "../texts";

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';

export const theme = createTheme({
  palette: {
    mode: "light",
    primary: { main: "#1f4e46", contrastText: "#ffffff" },
    secondary: { main: "#9a3b14", contrastText: "#ffffff" },
    background: { default: "#f6f5f1", paper: "#ffffff" },
    text: { primary: "#1d2423", secondary: "#55605e" },
    divider: "#e2e0d8",
    error: { main: "#b3261e" },
    warning: { main: "#8a5300" },
    success: { main: "#256b3c" },
    info: { main: "#1f5a8a" },
  },
  shape: { borderRadius: 10 },
  typography: {
    fontFamily: FONT,
    h1: { fontSize: "1.5rem", fontWeight: 650, letterSpacing: "-0.01em" },
    h2: { fontSize: "1.05rem", fontWeight: 650 },
    button: { textTransform: "none", fontWeight: 600 },
  },
  components: {
    MuiPaper: { defaultProps: { elevation: 0 }, styleOverrides: { root: { border: "1px solid #e2e0d8" } } },
    MuiAppBar: { defaultProps: { elevation: 0 }, styleOverrides: { root: { border: 0, borderBottom: "1px solid #e2e0d8" } } },
    MuiDrawer: { styleOverrides: { paper: { border: 0, borderRight: "1px solid #e2e0d8", borderRadius: 0 } } },
    MuiButton: { defaultProps: { disableElevation: true }, styleOverrides: { root: { minHeight: 40 } } },
    MuiTextField: { defaultProps: { variant: "outlined", size: "small" } },
    MuiFormControl: { defaultProps: { variant: "outlined", size: "small" } },
    // On phones: the bar of a list is no paper, and what is right of a card is read like the rest of it.
    RaListToolbar: { styleOverrides: { root: { "&&": { backgroundColor: "transparent" } } } },
    RaTopToolbar: { styleOverrides: { root: { "&&": { backgroundColor: "transparent" } } } },
    RaSimpleList: { styleOverrides: { root: { "& .RaSimpleList-tertiary": { opacity: 1, color: "#55605e" } } } },
    RaFilterFormInput: { styleOverrides: { root: { alignItems: "center", "& .MuiFormControl-root": { margin: "4px 0" } } } },
    MuiToggleButton: { styleOverrides: { root: { color: "#55605e", textTransform: "none", minHeight: 40 } } },
    // React-admin names only the buttons of wide pages.
    MuiTablePagination: { defaultProps: { getItemAriaLabel: (type) => i18nProvider.translate(`ra.navigation.${type}`) } },
    MuiTableCell: { styleOverrides: { head: { fontWeight: 600, color: "#55605e", whiteSpace: "nowrap" } } },
    // The outline shows the focus; a ripple that pulses for as long would never come to rest.
    MuiButtonBase: { defaultProps: { disableRipple: true }, styleOverrides: { root: { "&.Mui-focusVisible": { outline: "3px solid #1f5a8a", outlineOffset: 2 } } } },
  },
});
