// One order, and the statuses of orders, read once for all parts of its page.
import { useQuery } from "@tanstack/react-query";
import { OfficeOrderDocument, type OfficeOrderQuery, OfficeStatusesDocument, type OfficeStatusesQuery } from "../../generated";
import { execute } from "../../graphql/client";
import { useChange as useChangeOf } from "../change";

export type Order = NonNullable<OfficeOrderQuery["order"]>;
export type OrderStatus = NonNullable<OfficeStatusesQuery["status_page"]>["items"][number];

const EDITABLE = ["O", "B"];
const FINAL_FOR_VENDORS = "I";

export function useOrder(id: string) {
  return useQuery({ queryKey: ["order", "page", id], queryFn: async () => (await execute(OfficeOrderDocument, { id })).order as Order | null });
}

export function useOrderStatuses(): OrderStatus[] {
  const { data } = useQuery({ queryKey: ["status", "orders"], queryFn: () => execute(OfficeStatusesDocument), staleTime: 600_000 });
  return data?.status_page?.items ?? [];
}

// All orders that are shown are read again.
export const useChange = () => useChangeOf("order");

export function canChangeLines(order: Order): boolean {
  return EDITABLE.includes(order.status) && order.shipments.length === 0;
}

// The statuses to which an order may change; a vendor cancels only what isn't paid.
export function nextStatuses(statuses: readonly OrderStatus[], status: string, isVendor: boolean): OrderStatus[] {
  const allowed = statuses.find((each) => each.letter === status)?.allowed_next ?? [];
  const permitted = allowed.filter((letter) => !isVendor || letter !== FINAL_FOR_VENDORS || EDITABLE.includes(status));
  return permitted.flatMap((letter) => statuses.find((each) => each.letter === letter) ?? []);
}
