// The menu: the entities that the user may list, in groups; those that no group names come last.
import Box from "@mui/material/Box";
import List from "@mui/material/List";
import ListItem from "@mui/material/ListItem";
import ListItemButton from "@mui/material/ListItemButton";
import ListItemText from "@mui/material/ListItemText";
import Typography from "@mui/material/Typography";
import { useTranslate } from "ra-core";
import { NavLink } from "react-router-dom";
import { listedEntities, mayRead } from "../data/permissions";
import { MENU, PARTS, VENDOR_MENU } from "../entities/order";
import { entityName } from "../texts";
import { useSession } from "./context";

function groups(isVendor: boolean): [string, string[]][] {
  const allowed = new Set(listedEntities().filter((name) => !PARTS.includes(name)));
  const named = Object.entries(isVendor ? VENDOR_MENU : MENU).map(([group, names]): [string, string[]] => [group, names.filter((name) => allowed.delete(name))]);
  return [...named, ["other", isVendor ? [] : [...allowed]] satisfies [string, string[]]].filter(([, names]) => names.length > 0);
}

export function Menu() {
  const translate = useTranslate();
  const { me } = useSession();
  return (
    <nav aria-label={translate("app.menu")}>
      <List dense>
        <Item to="/" text={translate("app.home")} />
      </List>
      {groups(me.role === "vendor").map(([group, names]) => (
        <Box key={group}>
          <Typography id={`menu-${group}`} sx={{ px: 2, pt: 1, fontSize: "0.8rem", fontWeight: 600, color: "text.secondary" }}>{translate(`app.${group}`)}</Typography>
          <List dense aria-labelledby={`menu-${group}`} sx={{ pt: 0.5 }}>
            {names.map((name) => <Item key={name} to={`/${name}`} text={entityName(name)} />)}
            {group === "integrations" && mayRead("events") && <Item to="/events" text={translate("feed.title")} />}
            {group === "marketplace" && me.vendor && <Item to={`/vendor/${me.vendor.id}`} text={translate("app.profile")} />}
          </List>
        </Box>
      ))}
    </nav>
  );
}

function Item({ to, text }: { to: string; text: string }) {
  return (
    <ListItem disablePadding>
      <ListItemButton
        component={NavLink}
        to={to}
        end={to === "/"}
        sx={{ borderRadius: 2, mx: 1, minHeight: { xs: 44, md: 36 }, "&.active": { bgcolor: "rgba(31, 78, 70, 0.12)", fontWeight: 650, color: "primary.main" } }}
      >
        <ListItemText primary={text} slotProps={{ primary: { sx: { fontWeight: "inherit" } } }} />
      </ListItemButton>
    </ListItem>
  );
}
