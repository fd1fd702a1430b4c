// The store's menus, categories and pages, read once for the header, the footer and the routes of categories.

import { signal } from "@preact/signals";
import type { Refusal } from "./api/errors";
import { request, type Read } from "./api/requests";
import { MenuDocument, type ItemFragment, type MenuQuery } from "./generated";

export const menu = signal<Read<MenuQuery>>({ isLoading: true, reload: loadMenu });

export async function loadMenu(): Promise<void> {
  menu.value = await request(MenuDocument, {}).then(
    (data) => ({ data, isLoading: false, reload: loadMenu }),
    (refusal: Refusal) => ({ refusal, isLoading: false, reload: loadMenu }),
  );
}

type Item = Pick<ItemFragment, "id" | "name"> & Partial<ItemFragment> & { items?: Item[] };

/** Return the items of the header: those of the menu `main`; of a store without one its categories. */
export function headerItems(): Item[] {
  const { main, categories } = menu.value.data ?? {};
  return main?.items ?? atTheTop(categories).map((category) => ({ id: category.id, name: category.name, category }));
}

/** Return the items of the footer: those of the menu `footer`; of a store without one its pages. */
export function footerItems(): Item[] {
  const { footer, pages } = menu.value.data ?? {};
  const shown = atTheTop(pages).filter(({ type, slug }) => type !== "L" && slug);
  return footer?.items ?? shown.map((page) => ({ id: page.id, name: page.name, page }));
}

/** Return where an item leads; undefined for a heading. */
export function addressOf({ category, collection, page, product, vendor, link }: Item): string | undefined {
  if (category) return `/categoria/${category.slug}`;
  if (collection) return `/colecao/${collection.slug}`;
  if (page) return `/pagina/${page.slug}`;
  if (product) return `/produto/${product.slug}`;
  return vendor ? `/vendedor/${vendor.slug}` : (link ?? undefined);
}

const atTheTop = <Entry extends { parent_id: string | null }>(entries?: Entry[] | null) =>
  entries?.filter(({ parent_id }) => parent_id === null) ?? [];
