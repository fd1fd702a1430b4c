// The first page: what was sold, and what waits. Each number opens the list that it counts.
import Box from "@mui/material/Box";
import CardActionArea from "@mui/material/CardActionArea";
import Paper from "@mui/material/Paper";
import Typography from "@mui/material/Typography";
import { useQuery } from "@tanstack/react-query";
import { useTranslate } from "ra-core";
import { Link } from "react-router-dom";
import { mayDo, mayRead } from "../data/permissions";
import type { Values } from "../data/values";
import { money, number } from "../format";
import { OfficeOwnBalanceDocument } from "../generated";
import { execute, send } from "../graphql/client";
import { useSession } from "../shell/context";
import { Page } from "../shell/page";
import { Sales } from "./sales";

interface Count {
  name: string;
  entity: string;
  type: string;
  filter: Values;
  // The mutation that is done with them, where who may only read doesn't wait for them.
  isFor?: string;
}

const LOW_STOCK = 5;
const REFRESH_MS = 60_000;

function counts(): Count[] {
  const orders = (name: string, filter: Values): Count => ({ name, entity: "order", type: "OrderFilter", filter });
  const all: Count[] = [
    orders("waiting", { status: ["P"] }),
    orders("unpaid", { status: ["O"] }),
    { name: "low_stock", entity: "product", type: "ProductFilter", filter: { stock_to: LOW_STOCK, status: ["A"] } },
    { name: "in_doubt", entity: "payment", type: "PaymentFilter", filter: { in_doubt: true } },
    { name: "notifications", entity: "gateway_notification", type: "GatewayNotificationFilter", filter: { processed: false } },
    { name: "failed_deliveries", entity: "event_delivery", type: "EventDeliveryFilter", filter: { state: ["dead"] } },
    { name: "vendors", entity: "vendor", type: "VendorFilter", filter: { status: ["P"] }, isFor: "vendor_create" },
    { name: "reviews", entity: "review", type: "ReviewFilter", filter: { status: ["P"] } },
  ];
  return all.filter(({ entity, isFor }) => mayRead(`${entity}_page`) && (!isFor || mayDo(isFor)));
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
  const { me } = useSession();
  return (
    <Page title={translate("app.home")}>
      {mayRead("sales_summary") && <Sales refreshMs={REFRESH_MS} />}
      <Box component="ul" sx={{ listStyle: "none", m: 0, p: 0, display: "grid", gap: 1.5, gridTemplateColumns: { xs: "repeat(2, minmax(0, 1fr))", sm: "repeat(auto-fill, minmax(180px, 1fr))" } }}>
        {me.vendor && <Balance vendor={me.vendor.id} />}
        {asked.map((each) => <Tile key={each.name} count={each} value={numbers?.[each.name]} />)}
      </Box>
    </Page>
  );
}

// A vendor's own, on its profile.
function Balance({ vendor }: { vendor: string }) {
  const { data } = useQuery({ queryKey: ["home", "balance"], queryFn: async () => (await execute(OfficeOwnBalanceDocument)).me?.vendor?.balance, refetchInterval: REFRESH_MS });
  return <Counted name="balance" to={`/vendor/${vendor}`} value={money(data?.available_cents)} isWide />;
}

function Tile({ count: { name, entity, filter }, value }: { count: Count; value: number | undefined }) {
  // Lists take one value of a filter.
  const single = Object.fromEntries(Object.entries(filter).map(([key, each]) => [key, Array.isArray(each) ? (each as unknown[])[0] : each]));
  return <Counted name={name} to={`/${entity}?filter=${encodeURIComponent(JSON.stringify(single))}`} value={value === undefined ? "" : number(value)} />;
}

function Counted({ name, to, value, isWide = false }: { name: string; to: string; value: string; isWide?: boolean }) {
  const translate = useTranslate();
  return (
    <Paper component="li" sx={{ minWidth: 0, ...(isWide ? { gridColumn: { xs: "1 / -1", sm: "span 2" } } : {}) }}>
      <CardActionArea component={Link} to={to} sx={{ p: 2, height: "100%" }}>
        <Typography sx={{ fontSize: "1.75rem", fontWeight: 650, lineHeight: 1.2 }}>{value || "–"}</Typography>
        <Typography color="text.secondary" sx={{ fontSize: "0.9rem" }}>{translate(`home.${name}`)}</Typography>
      </CardActionArea>
    </Paper>
  );
}
