// The pages made by hand, one file each, loaded when they are opened. What isn't here is derived (src/derived).
import { type ComponentType, lazy, type LazyExoticComponent, type ReactNode } from "react";
import { Route } from "react-router-dom";

interface EntityPages {
  list?: LazyExoticComponent<ComponentType>;
  edit?: LazyExoticComponent<ComponentType>;
  create?: LazyExoticComponent<ComponentType>;
}

export const PAGES: Readonly<Record<string, EntityPages>> = {
  order: { list: lazy(() => import("./orders/list")), edit: lazy(() => import("./orders/page")) },
  product: { edit: lazy(() => import("./products/page")) },
  bulk_operation: { edit: lazy(() => import("./bulk/operation")) },
  setting: { list: lazy(() => import("./settings/page")) },
  installed_app: { list: lazy(() => import("./apps/list")), edit: lazy(() => import("./apps/page")) },
  audit_entry: { list: lazy(() => import("./audit/list")) },
  promotion: { edit: lazy(() => import("./promotions/page")) },
  vendor: { edit: lazy(() => import("./vendors/page")) },
  user: { list: lazy(() => import("./customers/list")), edit: lazy(() => import("./customers/page")) },
};

const Sessions = lazy(() => import("./sessions/page"));
const ImportPage = lazy(() => import("./bulk/import"));
const Feed = lazy(() => import("./apps/feed"));

// Pages that belong to no entity.
export const ROUTES: ReactNode = (
  <>
    <Route path="/sessions" element={<Sessions />} />
    <Route path="/import/:entity" element={<ImportPage />} />
    <Route path="/events" element={<Feed />} />
  </>
);
