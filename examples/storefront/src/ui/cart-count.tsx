import { unitsInCart } from "../api/cart";

/** How many units the cart holds, in the header. */
export function CartCount() {
  return unitsInCart.value > 0 ? <span class="badge">{unitsInCart.value}<span class="hidden"> no carrinho</span></span> : null;
}
