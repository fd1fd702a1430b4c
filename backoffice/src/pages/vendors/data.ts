// One vendor with its newest entries and payouts.
import { useQuery } from "@tanstack/react-query";
import type { RaRecord } from "ra-core";
import { mayRead } from "../../data/permissions";
import { OfficeVendorDocument, type OfficeVendorQuery } from "../../generated";
import { execute } from "../../graphql/client";

export type Vendor = NonNullable<OfficeVendorQuery["vendor"]>;
export type VendorPayouts = NonNullable<OfficeVendorQuery["payout_page"]>;
export type VendorEntries = NonNullable<OfficeVendorQuery["ledger_entry_page"]>;

export function useVendor(id: RaRecord["id"] | undefined) {
  const { data } = useQuery({
    queryKey: ["vendor", "page", id],
    queryFn: () => execute(OfficeVendorDocument, { id: String(id), ledger: mayRead("ledger_entry_page"), orders: mayRead("order_page") }),
    enabled: id !== undefined,
  });
  return data;
}
