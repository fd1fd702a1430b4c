// Where the user is signed in; a session is ended by itself, or all of them.
import Alert from "@mui/material/Alert";
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Chip from "@mui/material/Chip";
import Paper from "@mui/material/Paper";
import { useQuery } from "@tanstack/react-query";
import { useNotify, useTranslate } from "ra-core";
import { Link as RouterLink } from "react-router-dom";
import { signOut } from "../../data/auth";
import { mayRead } from "../../data/permissions";
import { time } from "../../format";
import { OfficeSessionEndDocument, OfficeSessionsDocument, type OfficeSessionsQuery, SignOutEverywhereDocument } from "../../generated";
import { execute } from "../../graphql/client";
import { Page } from "../../shell/page";
import { Waiting } from "../../shell/waiting";
import { useChange } from "../change";

type Session = NonNullable<OfficeSessionsQuery["sessions"]>[number];

const BROWSERS = [["Edg/", "Edge"], ["OPR/", "Opera"], ["Firefox/", "Firefox"], ["Chrome/", "Chrome"], ["Safari/", "Safari"]] as const;
const SYSTEMS = [["Android", "Android"], ["iPhone", "iPhone"], ["iPad", "iPad"], ["Windows", "Windows"], ["Mac OS", "macOS"], ["Linux", "Linux"]] as const;

function deviceOf(agent: string): string {
  const named = [BROWSERS, SYSTEMS].map((names) => names.find(([mark]) => agent.includes(mark))?.[1]);
  return named.filter(Boolean).join(" · ") || agent;
}

export default function Sessions() {
  const translate = useTranslate();
  const notify = useNotify();
  const { data: sessions, error } = useQuery({ queryKey: ["session"], queryFn: async () => (await execute(OfficeSessionsDocument)).sessions ?? [] });
  const endAll = async () => {
    try {
      await execute(SignOutEverywhereDocument);
      await signOut();
    } catch (error) {
      notify(error instanceof Error ? error.message : String(error), { type: "error" });
    }
  };
  if (error) return <Alert severity="error">{error.message}</Alert>;
  if (!sessions) return <Waiting />;
  return (
    <Page title={translate("session.title")} actions={<>{mayRead("user_session_page") && <Button component={RouterLink} to="/user_session" variant="outlined">{translate("session.of_others")}</Button>}<Button variant="outlined" color="error" onClick={() => void endAll()}>{translate("session.end_all")}</Button></>}>
      <Box component="ul" sx={{ listStyle: "none", m: 0, p: 0, display: "grid", gap: 1.5 }}>
        {sessions.map((session) => <SessionRow key={session.id} session={session} />)}
      </Box>
    </Page>
  );
}

function SessionRow({ session }: { session: Session }) {
  const translate = useTranslate();
  const notify = useNotify();
  const change = useChange("session");
  const device = deviceOf(session.user_agent);
  const end = async () => {
    try {
      await (session.current ? signOut() : change(() => execute(OfficeSessionEndDocument, { id: session.id }), "session.ended"));
    } catch (error) {
      notify(error instanceof Error ? error.message : String(error), { type: "error" });
    }
  };
  return (
    <Paper component="li" data-session={session.current ? "current" : "other"} sx={{ p: 2, display: "flex", flexWrap: "wrap", gap: 1, alignItems: "center" }}>
      <Box sx={{ flex: 1, minWidth: 200 }}>
        <Box sx={{ display: "flex", flexWrap: "wrap", gap: 1, alignItems: "center", fontWeight: 600, overflowWrap: "anywhere" }}>
          {device || translate("session.unknown")}
          {session.current && <Chip size="small" label={translate("session.current")} />}
        </Box>
        <Box sx={{ color: "text.secondary", fontSize: "0.9rem" }}>
          {session.ip_address} · {translate("session.used", { time: time(session.last_used_at) })} · {translate("session.since", { time: time(session.created_at) })}
        </Box>
      </Box>
      <Button variant="outlined" onClick={() => void end()} aria-label={`${translate("session.end")}: ${device}`}>{translate("session.end")}</Button>
    </Paper>
  );
}
