import { cartId, isGone, keepCart } from "../api/cart";
import { Refusal } from "../api/errors";
import { request, useRead } from "../api/requests";
import { money } from "../format";
import { ApplyCouponDocument, CartPageDocument, RemoveFromCartDocument, UpdateCartItemDocument, type CartPageQuery } from "../generated";
import { Title } from "../router";
import { Alert, Button, Field, Form, useAction } from "../ui/form";
import { Loaded } from "../ui/page";
import { Picture } from "../ui/picture";
import { Chosen } from "../ui/products";
import { Quantity } from "./product";

type CartRecord = NonNullable<CartPageQuery["cart"]>;

export function Cart() {
  const read = useRead(CartPageDocument, cartId.value ? { cart: cartId.value } : null);
  if (cartId.value === null) return <EmptyCart />;
  return (
    <Loaded read={read}>
      {({ cart }) => (cart?.status === "open" && cart.items.length > 0 ? <CartView cart={cart} reload={read.reload} /> : <EmptyCart />)}
    </Loaded>
  );
}

function EmptyCart() {
  return (
    <>
      <Title name="Carrinho">Seu carrinho está vazio</Title>
      <p><a href="/">Continuar comprando</a></p>
    </>
  );
}

function CartView({ cart, reload }: { cart: CartRecord; reload: () => Promise<void> }) {
  const { refusal, isBusy, run } = useAction(async (change: () => Promise<{ id: string; quantity_total: number }>) => {
    try {
      keepCart(await change());
    } catch (error) {
      if (error instanceof Refusal && isGone(error)) keepCart(null);
      throw error;
    } finally {
      // The server's warnings and totals are those of the cart as it is now.
      await reload();
    }
  });
  const setQuantity = (item: string, quantity: number) =>
    run(async () => (await request(UpdateCartItemDocument, { cart: cart.id, item, quantity })).cart_item_update);
  const remove = (item: string) => run(async () => (await request(RemoveFromCartDocument, { cart: cart.id, item })).cart_item_remove);
  const amount = (cents: number) => money(cents, cart.currency);
  return (
    <>
      <Title name="Carrinho">Carrinho</Title>
      <div class="columns">
        <div>
          <Warnings cart={cart} setQuantity={setQuantity} />
          <Alert refusal={refusal} />
          <ul class="lines" aria-busy={isBusy}>
            {cart.items.map((item) => (
              <li key={item.id}>
                <Picture image={item.product?.main_image && { ...item.product.main_image, alt: "" }} name={item.name} sizes="small" isFirst />
                <div>
                  <a href={`/produto/${item.product?.slug}`}>{item.name}</a>
                  <Chosen options={item.options} />
                  {!item.is_available && <small class="error">Indisponível</small>}
                </div>
                <Quantity
                  value={item.quantity}
                  limits={item.product}
                  others={cart.items.reduce((sum, { product, quantity }) => sum + (product && product.id === item.product?.id ? quantity : 0), -item.quantity)}
                  label={`Quantidade de ${item.name}`}
                  isOff={isBusy}
                  change={(quantity) => void setQuantity(item.id, quantity)}
                />
                <strong>{amount(item.total_cents)}</strong>
                <Button class="plain" isOff={isBusy} onClick={() => void remove(item.id)} aria-label={`Remover ${item.name}`}>Remover</Button>
              </li>
            ))}
            {cart.gifts.map((gift) => <li key={gift.name} class="gift">Brinde: {gift.quantity} × {gift.name}</li>)}
          </ul>
        </div>
        <aside class="summary" aria-label="Resumo">
          <Totals totals={cart} currency={cart.currency} />
          <Coupon cart={cart} reload={reload} />
          <a class="button primary" href="/finalizar">Finalizar compra</a>
        </aside>
      </div>
    </>
  );
}

function Warnings({ cart, setQuantity }: { cart: CartRecord; setQuantity: (item: string, quantity: number) => Promise<void> }) {
  return (
    <div role="status">
      {cart.warnings.map((warning) => {
        const { item, available_quantity: available } = warning;
        return (
          <p key={`${warning.code} ${item?.id}`} class="warning">
            {warning.message}{" "}
            {warning.code === "LESS_AVAILABLE" && item && available != null && available > 0 && (
              <button class="plain" onClick={() => void setQuantity(item.id, available)}>Levar {available}</button>
            )}
          </p>
        );
      })}
    </div>
  );
}

interface Amounts {
  subtotal_cents: number;
  discount_cents: number;
  shipping_cents: number;
  surcharge_cents?: number;
  total_cents: number;
}

export function Totals({ totals, currency }: { totals: Amounts; currency: string }) {
  const line = (label: string, cents = 0, isShown = cents !== 0) =>
    isShown && (
      <div>
        <dt>{label}</dt>
        <dd>{money(cents, currency)}</dd>
      </div>
    );
  return (
    <dl class="totals" aria-live="polite">
      {line("Produtos", totals.subtotal_cents, true)}
      {line("Desconto", -totals.discount_cents)}
      {line("Entrega", totals.shipping_cents)}
      {line("Acréscimo", totals.surcharge_cents)}
      {line("Total", totals.total_cents, true)}
    </dl>
  );
}

export function Coupon({ cart, reload }: { cart: Pick<CartRecord, "id" | "coupon_code">; reload: () => Promise<void> }) {
  async function apply(code: string) {
    await request(ApplyCouponDocument, { cart: cart.id, code });
    await reload();
  }
  const removal = useAction(() => apply(""));
  if (cart.coupon_code) {
    return (
      <>
        <p class="coupon">
          Cupom <strong>{cart.coupon_code}</strong>{" "}
          <Button class="plain" isOff={removal.isBusy} onClick={() => void removal.run()}>Remover cupom</Button>
        </p>
        <Alert refusal={removal.refusal} />
      </>
    );
  }
  return (
    <Form class="coupon" label="Aplicar" submit={async ({ code }) => (code ? apply(code) : undefined)}>
      {(fields) => <Field name="code" label="Cupom de desconto" autoComplete="off" error={fields.code} />}
    </Form>
  );
}
