// The first page: what waits, and how many orders came in. Each number opens the list that it counts.
import Box from "@mui/material/Box";
import CardActionArea from "@mui/material/CardActionArea";
import Paper from "@mui/material/Paper";
import Typography from "@mui/material/Typography";
import { useQuery } from "@tanstack/react-query";
import { useTranslate } from "ra-core";
import { Link } from "react-router-dom";
import { mayRead } from "../data/permissions";
import type { Values } from "../data/values";
import { day, number, startOfDay } from "../format";
import { send } from "../graphql/client";
import { Page } from "../shell/page";

interface Count {
  name: string;
  entity: string;
  type: string;
  filter: Values;
}

const DAYS = 14;
const LOW_STOCK = 5;
const REFRESH_MS = 60_000;

function counts(): Count[] {
  const orders = (name: string, filter: Values): Count => ({ name, entity: "order", type: "OrderFilter", filter });
  return [
    orders("today", { created_from: startOfDay() }),
    orders("week", { created_from: startOfDay(6) }),
    orders("month", { created_from: startOfDay(29) }),
    orders("waiting", { status: ["P"] }),
    orders("unpaid", { status: ["O"] }),
    { name: "low_stock", entity: "product", type: "ProductFilter", filter: { stock_to: LOW_STOCK, status: ["A"] } },
    { name: "notifications", entity: "gateway_notification", type: "GatewayNotificationFilter", filter: { processed: false } },
    { name: "failed_deliveries", entity: "event_delivery", type: "EventDeliveryFilter", filter: { state: ["dead"] } },
    { name: "reviews", entity: "review", type: "ReviewFilter", filter: { status: ["P"] } },
  ].filter((count) => mayRead(`${count.entity}_page`));
}

function daily(): Count[] {
  const days = Array.from({ length: DAYS }, (_, index) => DAYS - 1 - index);
  return days.map((ago) => {
    const until = ago ? { created_before: startOfDay(ago - 1) } : {};
    return { name: `day${ago}`, entity: "order", type: "OrderFilter", filter: { created_from: startOfDay(ago), ...until } };
  });
}

// All of them in one request: a page of no records has the total.
async function count(asked: Count[]): Promise<Record<string, number>> {
  if (!asked.length) return {};
  const parameters = asked.map(({ name, type }) => `$${name}: ${type}`).join(", ");
  const fields = asked.map(({ name, entity }) => `${name}: ${entity}_page(per_page: 0, filter: $${name}) { total }`).join(" ");
  const variables = Object.fromEntries(asked.map(({ name, filter }) => [name, filter]));
  const { data } = await send<Record<string, { total: number } | null>>(`query Counts(${parameters}) { ${fields} }`, variables);
  return Object.fromEntries(Object.entries(data).map(([name, page]) => [name, page?.total ?? 0]));
}

export default function Home() {
  const translate = useTranslate();
  const asked = counts();
  const { data: numbers } = useQuery({ queryKey: ["home"], queryFn: () => count(asked), refetchInterval: REFRESH_MS });
  return (
    <Page title={translate("app.home")}>
      <Box component="ul" sx={{ listStyle: "none", m: 0, p: 0, display: "grid", gap: 1.5, gridTemplateColumns: { xs: "repeat(2, minmax(0, 1fr))", sm: "repeat(auto-fill, minmax(180px, 1fr))" } }}>
        {asked.map((each) => <Tile key={each.name} count={each} value={numbers?.[each.name]} />)}
      </Box>
      {mayRead("order_page") && <OrdersByDay />}
    </Page>
  );
}

function Tile({ count: { name, entity, filter }, value }: { count: Count; value: number | undefined }) {
  const translate = useTranslate();
  // Lists take one value of a filter.
  const single = Object.fromEntries(Object.entries(filter).map(([key, each]) => [key, Array.isArray(each) ? (each as unknown[])[0] : each]));
  return (
    <Paper component="li">
      <CardActionArea component={Link} to={`/${entity}?filter=${encodeURIComponent(JSON.stringify(single))}`} sx={{ p: 2, height: "100%" }}>
        <Typography sx={{ fontSize: "1.75rem", fontWeight: 650, lineHeight: 1.2 }}>{value === undefined ? "–" : number(value)}</Typography>
        <Typography color="text.secondary" sx={{ fontSize: "0.9rem" }}>{translate(`home.${name}`)}</Typography>
      </CardActionArea>
    </Paper>
  );
}

function OrdersByDay() {
  const translate = useTranslate();
  const days = daily();
  const { data: numbers } = useQuery({ queryKey: ["home", "days"], queryFn: () => count(days), refetchInterval: REFRESH_MS });
  const highest = Math.max(1, ...Object.values(numbers ?? {}));
  return (
    <Paper component="section" aria-labelledby="by-day" sx={{ p: 2 }}>
      <Typography id="by-day" variant="h2" sx={{ mb: 2 }}>{translate("home.by_day")}</Typography>
      <Box component="ol" sx={{ listStyle: "none", m: 0, p: 0, display: "grid", gridTemplateColumns: `repeat(${DAYS}, minmax(0, 1fr))`, gap: { xs: 0.5, sm: 1 }, alignItems: "end", height: 180 }}>
        {days.map(({ name, filter }, index) => {
          const value = numbers?.[name] ?? 0;
          return (
            <Box component="li" key={name} sx={{ display: "grid", gridTemplateRows: "1fr auto auto", height: "100%", textAlign: "center", fontSize: "0.75rem" }}>
              <Box sx={{ alignSelf: "end", height: `${(value / highest) * 100}%`, minHeight: 2, bgcolor: "primary.main", borderRadius: "4px 4px 0 0" }} />
              <Box sx={{ fontWeight: 600 }}>{numbers ? number(value) : ""}</Box>
              <Box sx={{ color: "text.secondary", display: { xs: index % 3 ? "none" : "block", sm: "block" } }}>{day(String(filter.created_from))}</Box>
            </Box>
          );
        })}
      </Box>
    </Paper>
  );
}
