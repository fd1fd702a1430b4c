// The pages made by hand, one file each, loaded when they are opened. What isn't here is derived (src/derived).
import { type ComponentType, lazy, type LazyExoticComponent, type ReactNode } from "react";

interface EntityPages {
  list?: LazyExoticComponent<ComponentType>;
  edit?: LazyExoticComponent<ComponentType>;
  create?: LazyExoticComponent<ComponentType>;
}

export const PAGES: Readonly<Record<string, EntityPages>> = {
  order: { list: lazy(() => import("./orders/list")), edit: lazy(() => import("./orders/page")) },
  vendor: { edit: lazy(() => import("./vendors/page")) },
  user: { list: lazy(() => import("./customers/list")), edit: lazy(() => import("./customers/page")) },
};

// Pages that belong to no entity: <Route path="…" element={…} />.
export const ROUTES: ReactNode = null;
