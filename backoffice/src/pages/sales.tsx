// The sales of today, of a week or a month: their sum, and a plot of their hours or days, whose table is read by who doesn't see it.
import Box from "@mui/material/Box";
import Paper from "@mui/material/Paper";
import ToggleButton from "@mui/material/ToggleButton";
import ToggleButtonGroup from "@mui/material/ToggleButtonGroup";
import Typography from "@mui/material/Typography";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useTranslate } from "ra-core";
import { useState } from "react";
import { day, hour, money, number } from "../format";
import { OfficeSalesDocument, type OfficeSalesQuery, type SalesPeriod } from "../generated";
import { execute } from "../graphql/client";

type Summary = NonNullable<OfficeSalesQuery["sales_summary"]>;

const PERIODS: readonly SalesPeriod[] = ["day", "week", "month"];
const WIDTH = 600;
const HEIGHT = 160;
const GAP = 0.25;

export function Sales({ refreshMs }: { refreshMs: number }) {
  const translate = useTranslate();
  const [period, setPeriod] = useState<SalesPeriod>("week");
  const { data } = useQuery({
    queryKey: ["home", "sales", period],
    queryFn: async () => (await execute(OfficeSalesDocument, { period })).sales_summary,
    refetchInterval: refreshMs,
    placeholderData: keepPreviousData,
  });
  const label = period === "day" ? hour : day;
  return (
    <Paper component="section" aria-labelledby="sales" sx={{ p: 2, display: "grid", gap: 1.5, gridTemplateColumns: "minmax(0, 1fr)" }}>
      <Box sx={{ display: "flex", flexWrap: "wrap", gap: 1, alignItems: "center" }}>
        <Typography id="sales" variant="h2" sx={{ flex: 1 }}>{translate("home.sales")}</Typography>
        <ToggleButtonGroup exclusive size="small" value={period} onChange={(_, chosen: SalesPeriod | null) => chosen && setPeriod(chosen)} aria-label={translate("home.period")}>
          {PERIODS.map((each) => <ToggleButton key={each} value={each}>{translate(`home.${each}`)}</ToggleButton>)}
        </ToggleButtonGroup>
      </Box>
      <Box>
        <Typography component="p" sx={{ fontSize: "1.75rem", fontWeight: 650, lineHeight: 1.2 }}>{data ? money(data.total_cents) : "–"}</Typography>
        <Typography color="text.secondary">{data ? translate("home.orders", { smart_count: data.orders }) : ""}</Typography>
      </Box>
      {data && <Plot summary={data} label={label} />}
    </Paper>
  );
}

function Plot({ summary, label }: { summary: Summary; label: (at: string) => string }) {
  const translate = useTranslate();
  const { parts } = summary;
  const highest = Math.max(1, ...parts.map((part) => part.total_cents));
  const step = WIDTH / parts.length;
  return (
    <Box>
      <Box component="svg" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true" sx={{ display: "block", width: "100%", height: HEIGHT, color: "primary.main", borderBottom: "1px solid", borderColor: "divider" }}>
        {parts.map((part, index) => {
          const height = (part.total_cents / highest) * (HEIGHT - 4);
          return (
            <rect key={part.begins_at} x={index * step + (step * GAP) / 2} y={HEIGHT - height} width={step * (1 - GAP)} height={height} fill="currentColor">
              <title>{`${label(part.begins_at)}: ${money(part.total_cents)}`}</title>
            </rect>
          );
        })}
      </Box>
      <Box aria-hidden="true" sx={{ display: "flex", justifyContent: "space-between", color: "text.secondary", fontSize: "0.8rem" }}>
        <span>{label(parts[0]?.begins_at ?? "")}</span>
        <span>{label(parts.at(-1)?.begins_at ?? "")}</span>
      </Box>
      <table className="visually-hidden">
        <caption>{translate("home.sales")}</caption>
        <thead><tr><th scope="col">{translate("home.when")}</th><th scope="col">{translate("home.count")}</th><th scope="col">{translate("home.sum")}</th></tr></thead>
        <tbody>
          {parts.map((part) => <tr key={part.begins_at}><th scope="row">{label(part.begins_at)}</th><td>{number(part.orders)}</td><td>{money(part.total_cents)}</td></tr>)}
        </tbody>
      </table>
    </Box>
  );
}
