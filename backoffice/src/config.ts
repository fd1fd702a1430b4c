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

// An ID is remembered as the server writes it: all tabs of a store have one name for their session.
export function chooseStore(id: string): void {
  const canonical = id.toLowerCase().replaceAll("-", "").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  sessionStorage.setItem(CHOSEN, canonical);
  location.assign("/admin");
}

export function storeHeaders(): Record<string, string> {
  return config.store ? { "X-Tenant-ID": config.store } : {};
}
