// The store's categories and pages, read once for the header, the footer and the routes of categories.

import { signal } from "@preact/signals";
import type { Refusal } from "./api/errors";
import { request, type Read } from "./api/requests";
import { MenuDocument, type MenuQuery } from "./generated";

export const menu = signal<Read<MenuQuery>>({ isLoading: true, reload: loadMenu });

export async function loadMenu(): Promise<void> {
  menu.value = await request(MenuDocument, {}).then(
    (data) => ({ data, isLoading: false, reload: loadMenu }),
    (refusal: Refusal) => ({ refusal, isLoading: false, reload: loadMenu }),
  );
}
