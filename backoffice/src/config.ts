// What the server writes into the page.
export interface Config {
  store: string;
  isShared: boolean;
  name: string;
  nonce: string;
  // Whether the pages of the shop are at this address too.
  hasShop: boolean;
}

const element = document.getElementById("config");
const written = JSON.parse(element?.textContent ?? "{}") as Config;
const CHOSEN = "vitrine.store";

// Where stores share the address, the person names one; only its ID is remembered.
const chosen = written.isShared ? (sessionStorage.getItem(CHOSEN) ?? written.store) : "";

export const config = { ...written, store: chosen };

export function chooseStore(id: string): void {
  sessionStorage.setItem(CHOSEN, id);
  location.assign("/admin");
}

export function storeHeaders(): Record<string, string> {
  return config.store ? { "X-Tenant-ID": config.store } : {};
}
