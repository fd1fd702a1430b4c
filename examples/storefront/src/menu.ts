// The store's categories and pages, read once for the header, the footer and the routes of categories.

import { signal } from "@preact/signals";
import { request } from "./api/requests";
import { MenuDocument, type MenuQuery } from "./generated";

export const menu = signal<MenuQuery | null>(null);

export async function loadMenu(): Promise<void> {
  menu.value = await request(MenuDocument, {});
}
