// What the server writes into the page (docs/building-a-storefront.md#the-example-storefront). The key is public.

export interface Config {
  endpoint: string;
  key: string;
  name: string;
  currency: string;
  has_logo: boolean;
}

export const config: Config = JSON.parse(document.getElementById("config")!.textContent!);
