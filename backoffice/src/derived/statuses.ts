// The statuses of orders and shipments, to which a store may add its own.
import { useGetList } from "ra-core";
import { mayRead } from "../data/permissions";

export interface Status {
  id: string;
  letter: string;
  description: string;
  color: string;
  type: string;
}

export function useStatuses(type: "O" | "S"): Status[] {
  const { data } = useGetList<Status>(
    "status",
    { pagination: { page: 1, perPage: 100 }, sort: { field: "position", order: "ASC" }, filter: { type: [type] }, meta: { selection: "letter description color type" } },
    { enabled: mayRead("status_page"), staleTime: 600_000 },
  );
  return data ?? [];
}
