// The customer's cart: its id is all that the browser keeps.

import { signal } from "@preact/signals";
import { AddToCartDocument, CartPageDocument, CreateCartDocument, MergeCartDocument, OpenCartDocument, UploadFileDocument, type CartItemInput } from "../generated";
import { Refusal } from "./errors";
import { request } from "./requests";
import { isSignedIn } from "./session";

const STORED = "vitrine:cart";
const GONE = new Set(["cart_expired", "cart_already_ordered"]);

export const cartId = signal(localStorage.getItem(STORED));
export const unitsInCart = signal(0);

export function keepCart(cart: { id: string; quantity_total?: number } | null): void {
  cartId.value = cart?.id ?? null;
  if (cart === null) localStorage.removeItem(STORED);
  else localStorage.setItem(STORED, cart.id);
  unitsInCart.value = cart === null ? 0 : (cart.quantity_total ?? unitsInCart.value);
}

/** Return whether a refusal means that the cart can't be used any more. */
export const isGone = (refusal: Refusal): boolean => refusal.code === "NOT_FOUND" || GONE.has(refusal.reason);

/** Files of the customer by option id. */
export type Files = Readonly<Record<string, File>>;

async function addTo(cart: string, input: CartItemInput, files: Files): Promise<void> {
  const options: Record<string, unknown> = { ...(input.options as object) };
  for (const [option, file] of Object.entries(files)) {
    options[option] = (await request(UploadFileDocument, { cart, option, file })).cart_file_upload?.id;
  }
  keepCart((await request(AddToCartDocument, { cart, input: { ...input, options } })).cart_item_add);
}

/** Add a product to the cart, or to a new one; files are uploaded to it first. */
export async function addToCart(input: CartItemInput, files: Files): Promise<void> {
  if (cartId.value !== null) {
    try {
      return await addTo(cartId.value, input, files);
    } catch (error) {
      // Not a refusal of the product: then a new cart would be refused for the same reason.
      if (!(error instanceof Refusal && isGone(error))) throw error;
    }
  }
  const hasFiles = Object.keys(files).length > 0;
  const { cart_create } = await request(CreateCartDocument, { input: { items: hasFiles ? [] : [input] } });
  keepCart(cart_create);
  if (hasFiles && cart_create) await addTo(cart_create.id, input, files);
}

/** Continue with the customer's cart after sign-in, with what the guest's held. */
export async function mergeCart(): Promise<void> {
  if (cartId.value !== null) {
    try {
      return keepCart((await request(MergeCartDocument, { guest_cart: cartId.value })).cart_merge);
    } catch (error) {
      if (!(error instanceof Refusal && isGone(error))) throw error;
    }
  }
  await findCart();
}

/** Count what the cart holds when the shop opens; find the customer's when this browser knows none. */
export async function findCart(): Promise<void> {
  if (cartId.value !== null) {
    const { cart } = await request(CartPageDocument, { cart: cartId.value });
    if (cart?.status === "open") unitsInCart.value = cart.items.reduce((sum, item) => sum + item.quantity, 0);
    else keepCart(null);
  } else if (isSignedIn.value) {
    const cart = (await request(OpenCartDocument, {})).me?.carts?.[0];
    if (cart) keepCart({ id: cart.id, quantity_total: cart.items.reduce((sum, item) => sum + item.quantity, 0) });
  }
}

addEventListener("storage", (event) => {
  if (event.key !== STORED) return;
  cartId.value = event.newValue;
  if (event.newValue === null) unitsInCart.value = 0;
  else void findCart();
});
