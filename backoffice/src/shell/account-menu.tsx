import AccountCircle from "@mui/icons-material/AccountCircleOutlined";
import IconButton from "@mui/material/IconButton";
import ListSubheader from "@mui/material/ListSubheader";
import MuiMenu from "@mui/material/Menu";
import MenuItem from "@mui/material/MenuItem";
import { useLocaleState, useNotify, useTranslate } from "ra-core";
import { useState } from "react";
import { Link } from "react-router-dom";
import { signOut } from "../data/auth";
import { SignOutEverywhereDocument } from "../generated";
import { execute } from "../graphql/client";
import { useSession } from "./context";

export function AccountMenu() {
  const translate = useTranslate();
  const notify = useNotify();
  const { me } = useSession();
  const [anchor, setAnchor] = useState<HTMLElement | null>(null);
  const [locale, setLocale] = useLocaleState();

  const leave = async (isEverywhere: boolean) => {
    setAnchor(null);
    try {
      if (isEverywhere) await execute(SignOutEverywhereDocument);
      await signOut();
    } catch (error) {
      notify(error instanceof Error ? error.message : String(error), { type: "error" });
    }
  };

  return (
    <>
      <IconButton onClick={(event) => setAnchor(event.currentTarget)} aria-label={translate("app.account")} aria-haspopup="menu">
        <AccountCircle />
      </IconButton>
      <MuiMenu anchorEl={anchor} open={anchor !== null} onClose={() => setAnchor(null)}>
        <ListSubheader role="presentation">{me.name || me.email}</ListSubheader>
        <MenuItem onClick={() => setLocale(locale === "en" ? "pt-BR" : "en")}>{translate("app.language")}</MenuItem>
        <MenuItem component={Link} to="/sessions" onClick={() => setAnchor(null)}>{translate("session.title")}</MenuItem>
        <MenuItem onClick={() => void leave(true)}>{translate("app.sign_out_everywhere")}</MenuItem>
        <MenuItem onClick={() => void leave(false)}>{translate("app.sign_out")}</MenuItem>
      </MuiMenu>
    </>
  );
}
