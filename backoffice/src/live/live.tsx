// Keeps what is shown of orders and payments as it is at the server, and says what arrived to who can't see it.
import Box from "@mui/material/Box";
import { useQueryClient } from "@tanstack/react-query";
import { useTranslate } from "ra-core";
import { useEffect, useRef, useState } from "react";
import { mayRead } from "../data/permissions";
import { useSession } from "../shell/context";
import { type Arrived, follow } from "./connection";

const ORDERS = ["order.created", "order.updated", "order.cancelled", "shipment.created", "shipment.updated", "shipment.deleted"];
const PAYMENTS = ["payment.created", "payment.paid", "payment.failed", "payment.refunded", "payment.cancelled", "payment.disputed"];
const ANNOUNCED: readonly string[] = ["order.created", "order.cancelled", "payment.paid", "payment.disputed"];
const SHOWN: readonly unknown[] = ["order", "payment", "shipment", "home"];
// Several events of one change are one reading.
const SETTLE_MS = 400;
const POLL_MS = 60_000;

export default function Live() {
  const translate = useTranslate();
  const client = useQueryClient();
  const { me } = useSession();
  const [said, setSaid] = useState("");
  const isFollowed = me.role === "admin" && mayRead("order_page");
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);

  useEffect(() => {
    // Lists and pages are read again where they are, so that focus and scroll stay; a record in a form isn't.
    const refresh = () => {
      clearTimeout(timer.current);
      timer.current = setTimeout(() => void client.invalidateQueries({ predicate: ({ queryKey }) => SHOWN.includes(queryKey[0]) && queryKey[1] !== "getOne" }), SETTLE_MS);
    };
    // The events of a store aren't a vendor's to read.
    if (!isFollowed) {
      const poll = setInterval(refresh, POLL_MS);
      return () => clearInterval(poll);
    }
    const arrive = ({ event, order }: Arrived) => {
      refresh();
      if (ANNOUNCED.includes(event) && order) setSaid(translate(`live.${event.replace(".", "_")}`, { number: order.number }));
    };
    const end = follow([...ORDERS, ...PAYMENTS], arrive, refresh);
    return () => {
      clearTimeout(timer.current);
      end();
    };
  }, [client, isFollowed, translate]);

  return <Box role="status" aria-live="polite" className="visually-hidden" data-live>{said}</Box>;
}
