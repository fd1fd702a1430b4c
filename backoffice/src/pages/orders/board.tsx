// Orders by status: a column of each status of the store, a page of its orders at a time. A card is dragged to another column, or moved by
// its menu; the server says which columns allow it.
import MoreVert from "@mui/icons-material/MoreVert";
import Box from "@mui/material/Box";
import Button from "@mui/material/Button";
import IconButton from "@mui/material/IconButton";
import Link from "@mui/material/Link";
import Menu from "@mui/material/Menu";
import MenuItem from "@mui/material/MenuItem";
import Paper from "@mui/material/Paper";
import TextField from "@mui/material/TextField";
import Typography from "@mui/material/Typography";
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useNotify, useTranslate } from "ra-core";
import { type DragEvent, useDeferredValue, useEffect, useRef, useState } from "react";
import { Link as RouterLink } from "react-router-dom";
import { mayDo } from "../../data/permissions";
import { Value } from "../../derived/value";
import { useDescriptions } from "../../entities/load";
import { fromLocal, LAST_DAY, money, number, time } from "../../format";
import { OfficeBoardDocument, type OfficeBoardQuery, type OrderFilter } from "../../generated";
import { execute } from "../../graphql/client";
import { useSession } from "../../shell/context";
import { fieldName, memberName } from "../../texts";
import { nextStatuses, type OrderStatus, useOrderStatuses } from "./data";
import { StatusDialog } from "./status";

type Card = NonNullable<OfficeBoardQuery["order_page"]>["items"][number];

const PER_PAGE = 20;

interface Move {
  card: Card;
  to: string;
}

export function Board() {
  const translate = useTranslate();
  const notify = useNotify();
  const { me } = useSession();
  const statuses = useOrderStatuses();
  const [search, setSearch] = useState("");
  const [payment, setPayment] = useState("");
  const [since, setSince] = useState("");
  const filter = useDeferredValue(JSON.stringify({ ...(search.trim() ? { search: search.trim() } : {}), ...(payment ? { payment_status: [payment] } : {}), ...(since ? { created_from: fromLocal(`${since}T00:00`) } : {}) }));
  const payments = useDescriptions().enums.PaymentStatus ?? [];
  const [dragged, setDragged] = useState<Card | null>(null);
  const [move, setMove] = useState<Move | null>(null);
  // A card that moved is another element, which gets the focus.
  const [moved, setMoved] = useState<Move | null>(null);
  const next = (status: string) => nextStatuses(statuses, status, me.role === "vendor");
  const mayMove = mayDo("order_set_status");

  const close = () => {
    setMoved(move);
    setMove(null);
  };
  const drop = (to: string) => {
    const card = dragged;
    setDragged(null);
    if (!card || card.status === to) return;
    if (next(card.status).some(({ letter }) => letter === to)) setMove({ card, to });
    else notify("board.refused", { type: "warning", messageArgs: { number: card.number } });
  };

  return (
    <>
      <Box sx={{ display: "flex", flexWrap: "wrap", gap: 1 }}>
        <TextField label={translate("ra.action.search")} value={search} onChange={(event) => setSearch(event.target.value)} name="search" type="search" sx={{ width: { xs: "100%", sm: 280 } }} />
        <TextField select label={fieldName("payment_status")} value={payment} onChange={(event) => setPayment(event.target.value)} sx={{ minWidth: 170, flex: { xs: 1, sm: "none" } }}>
          <MenuItem value="">{translate("board.any")}</MenuItem>
          {payments.map(({ id, name }) => <MenuItem key={id} value={id}>{memberName(name)}</MenuItem>)}
        </TextField>
        <TextField label={translate("board.since")} value={since} onChange={(event) => setSince(event.target.value)} name="since" type="date" slotProps={{ inputLabel: { shrink: true }, htmlInput: { max: LAST_DAY } }} sx={{ flex: { xs: 1, sm: "none" } }} />
      </Box>
      <Box role="region" aria-label={translate("board.title")} tabIndex={0} sx={{ display: "grid", gridAutoFlow: "column", gridAutoColumns: { xs: "82%", sm: "280px" }, gap: 1.5, overflowX: "auto", pb: 1, scrollSnapType: { xs: "x mandatory", sm: "none" }, alignItems: "start" }}>
        {statuses.map((status) => (
          <Column
            key={status.letter} status={status} filter={filter} next={next(status.letter)} mayMove={mayMove}
            isTarget={dragged !== null && next(dragged.status).some(({ letter }) => letter === status.letter)}
            focused={moved?.to === status.letter ? moved.card.id : ""}
            onDrag={setDragged} onDrop={() => drop(status.letter)} onMove={setMove}
          />
        ))}
      </Box>
      {move && <StatusDialog orders={[move.card]} choices={next(move.card.status)} chosen={move.to} onClose={close} />}
    </>
  );
}

interface ColumnProps {
  status: OrderStatus;
  // As JSON, which is the same for the same conditions.
  filter: string;
  next: readonly OrderStatus[];
  mayMove: boolean;
  isTarget: boolean;
  focused: string;
  onDrag: (card: Card | null) => void;
  onDrop: () => void;
  onMove: (move: Move) => void;
}

function Column({ status, filter, next, mayMove, isTarget, focused, onDrag, onDrop, onMove }: ColumnProps) {
  const translate = useTranslate();
  const { data, fetchNextPage, hasNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: ["order", "board", status.letter, filter],
    queryFn: async ({ pageParam }) =>
      (await execute(OfficeBoardDocument, { filter: { ...(JSON.parse(filter) as OrderFilter), status: [status.letter] }, page: pageParam, per_page: PER_PAGE })).order_page,
    initialPageParam: 1,
    getNextPageParam: (last, pages) => (last && pages.length * PER_PAGE < last.total ? pages.length + 1 : undefined),
    placeholderData: keepPreviousData,
  });
  const cards = data?.pages.flatMap((page) => page?.items ?? []) ?? [];
  const title = `board-${status.letter}`;
  const over = (event: DragEvent) => event.preventDefault();
  return (
    <Paper
      component="section" aria-labelledby={title} data-status={status.letter} onDragOver={over} onDrop={onDrop}
      sx={{ p: 1, bgcolor: "transparent", scrollSnapAlign: "start", minWidth: 0, ...(isTarget ? { outline: "2px dashed", outlineColor: "primary.main" } : {}) }}
    >
      <Typography id={title} variant="h2" sx={{ display: "flex", gap: 1, alignItems: "center", p: 0.5, mb: 1 }}>
        <Box component="span" aria-hidden sx={{ width: 10, height: 10, borderRadius: "50%", bgcolor: status.color }} />
        <span>{status.description}</span>
        <Box component="span" sx={{ color: "text.secondary", fontWeight: 400 }}>{data ? number(data.pages[0]?.total) : ""}</Box>
      </Typography>
      <Box component="ul" sx={{ listStyle: "none", m: 0, p: 0, display: "grid", gap: 1, gridTemplateColumns: "minmax(0, 1fr)" }}>
        {cards.map((card) => <CardOf key={card.id} card={card} next={mayMove ? next : []} isFocused={card.id === focused} onDrag={onDrag} onMove={onMove} />)}
      </Box>
      {hasNextPage && <Button onClick={() => void fetchNextPage()} disabled={isFetchingNextPage} aria-label={`${translate("board.more")}: ${status.description}`}>{translate("board.more")}</Button>}
    </Paper>
  );
}

interface CardProps {
  card: Card;
  next: readonly OrderStatus[];
  isFocused: boolean;
  onDrag: (card: Card | null) => void;
  onMove: (move: Move) => void;
}

function CardOf({ card, next, isFocused, onDrag, onMove }: CardProps) {
  const translate = useTranslate();
  const link = useRef<HTMLAnchorElement>(null);
  useEffect(() => {
    if (isFocused) link.current?.focus();
  }, [isFocused]);
  const [anchor, setAnchor] = useState<HTMLElement | null>(null);
  const choose = (to: string) => {
    setAnchor(null);
    onMove({ card, to });
  };
  return (
    <Paper component="li" data-order={card.number} draggable={next.length > 0} onDragStart={() => onDrag(card)} onDragEnd={() => onDrag(null)} sx={{ p: 1.25, cursor: next.length ? "grab" : "default" }}>
      <Box sx={{ display: "flex", alignItems: "center", gap: 1 }}>
        <Link ref={link} component={RouterLink} to={`/order/${card.id}`} draggable={false} sx={{ flex: 1, fontWeight: 650 }}>{translate("order.title", { number: card.number })}</Link>
        {next.length > 0 && (
          <IconButton size="small" aria-label={translate("board.move", { number: card.number })} aria-haspopup="menu" onClick={(event) => setAnchor(event.currentTarget)}><MoreVert fontSize="small" /></IconButton>
        )}
      </Box>
      <Box sx={{ overflowWrap: "anywhere" }}>{card.customer.name}</Box>
      <Box sx={{ display: "flex", flexWrap: "wrap", gap: 1, alignItems: "center", fontSize: "0.9rem" }}>
        <strong>{money(card.total_cents, card.currency)}</strong>
        <Value field={{ name: "payment_status", kind: "enum", enum: "PaymentStatus" }} value={card.payment_status} />
        <Box component="span" sx={{ color: "text.secondary", fontSize: "0.85rem" }}>{time(card.created_at)}</Box>
      </Box>
      <Menu anchorEl={anchor} open={anchor !== null} onClose={() => setAnchor(null)}>
        {next.map(({ letter, description }) => <MenuItem key={letter} onClick={() => choose(letter)}>{description}</MenuItem>)}
      </Menu>
    </Paper>
  );
}
