// The event feed, a page at a time from the oldest event that the store keeps.
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import Link from "@mui/material/Link";
import Paper from "@mui/material/Paper";
import TextField from "@mui/material/TextField";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useTranslate } from "ra-core";
import { useDeferredValue, useState } from "react";
import { Link as RouterLink } from "react-router-dom";
import { mayRead } from "../../data/permissions";
import { time } from "../../format";
import { OfficeFeedDocument, type OfficeFeedQuery } from "../../generated";
import { execute } from "../../graphql/client";
import { Page } from "../../shell/page";
import { Nothing } from "../orders/parts";

type Events = OfficeFeedQuery["events"];
type Event = NonNullable<Events>["edges"][number]["node"];

// A page without an event of this type isn't the last one: the next that has some.
async function nextEvents(after: string | null, type: string): Promise<Events> {
  const { events } = await execute(OfficeFeedDocument, { after, types: type ? [type] : null });
  const { end_cursor, has_next_page } = events?.page_info ?? {};
  return events && !events.edges.length && has_next_page && end_cursor ? nextEvents(end_cursor, type) : events;
}

export default function Feed() {
  const translate = useTranslate();
  const [type, setType] = useState("");
  const asked = useDeferredValue(type.trim());
  const { data, error, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: ["event", "feed", asked],
    queryFn: ({ pageParam }) => nextEvents(pageParam, asked),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last?.page_info.end_cursor ?? null,
  });
  const events = data?.pages.flatMap((page) => page?.edges.map(({ node }) => node) ?? []) ?? [];
  const hasMore = data?.pages.at(-1)?.page_info.has_next_page ?? false;
  return (
    <Page title={translate("feed.title")}>
      <TextField label={translate("feed.type")} value={type} onChange={(event) => setType(event.target.value)} name="type" sx={{ maxWidth: 360 }} error={error !== null} helperText={error?.message} />
      {data && !events.length && <Nothing />}
      <Box component="ol" sx={{ listStyle: "none", m: 0, p: 0, display: "grid", gap: 1, gridTemplateColumns: "minmax(0, 1fr)" }}>
        {events.map((event) => <EventRow key={event.id} event={event} />)}
      </Box>
      {data && (
        <Box sx={{ display: "flex", flexWrap: "wrap", gap: 2, alignItems: "center" }}>
          <Button variant="outlined" disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>{translate(hasMore ? "feed.newer" : "feed.refresh")}</Button>
          {!hasMore && <span>{translate("feed.end")}</span>}
        </Box>
      )}
    </Page>
  );
}

function EventRow({ event }: { event: Event }) {
  const translate = useTranslate();
  const path = mayRead(event.subject_type) && mayRead(`${event.subject_type}_page`) ? `/${event.subject_type}/${event.subject_id}` : "";
  return (
    <Paper component="li" data-event={event.event} sx={{ p: 1.5, overflowWrap: "anywhere" }}>
      <Box sx={{ display: "flex", flexWrap: "wrap", gap: 1.5, alignItems: "baseline" }}>
        <strong>{event.event}</strong>
        <Box component="span" sx={{ color: "text.secondary", fontSize: "0.9rem" }}>{time(event.created_at)}</Box>
        {path && <Link component={RouterLink} to={path}>{translate("ra.action.show")}</Link>}
      </Box>
      <details>
        <Box component="summary" sx={{ fontSize: "0.85rem", cursor: "pointer", py: 0.5 }}>{translate("feed.data")}</Box>
        <Box component="pre" tabIndex={0} sx={{ m: 0, fontSize: "0.8rem", whiteSpace: "pre-wrap" }}>{JSON.stringify(event.data, null, 2)}</Box>
      </details>
    </Paper>
  );
}
