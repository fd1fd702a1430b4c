// An order, by the id and token behind the # of its address: opened from the checkout, a mail, or the account (without a token).

import { useEffect } from "preact/hooks";
import { keepCart } from "../api/cart";
import { Refusal } from "../api/errors";
import { request, useRead } from "../api/requests";
import { date, money, plainText } from "../format";
import { OrderPageDocument, PaidOrderDocument, ReorderDocument, type OrderPageQuery } from "../generated";
import { orderStatus } from "../orders";
import { navigate, place, Title } from "../router";
import { Alert, Button, useAction } from "../ui/form";
import { Loaded } from "../ui/page";
import { Picture } from "../ui/picture";
import { Chosen } from "../ui/products";
import { Totals } from "./cart";
import { Payment } from "./payment";

type OrderRecord = NonNullable<OrderPageQuery["placed_order"]>;

const POLL_MS = 3_000;
// An order whose payment was declined or failed can be paid again.
const isAwaiting = (order: { status: string; payment_status: string }) => "ODF".includes(order.status) && order.payment_status === "unpaid";

/** What changes while the page is open. */
const stateOf = (order: { status: string; payment_status: string; payments: { id: string; status: string }[] }) =>
  [order.status, order.payment_status, ...order.payments.map(({ id, status }) => id + status)].join();

export function Order() {
  const parameters = new URLSearchParams(place.value.hash.slice(1));
  const variables = { id: parameters.get("id") ?? "", token: parameters.get("token") };
  const read = useRead(OrderPageDocument, variables);
  const order = read.data?.placed_order;
  useEffect(() => {
    if (!order || !isAwaiting(order)) return;
    const timer = setInterval(async () => {
      if (document.hidden) return;
      const paid = await request(PaidOrderDocument, variables).catch(() => null);
      if (paid?.placed_order && stateOf(paid.placed_order) !== stateOf(order)) await read.reload();
    }, POLL_MS);
    return () => clearInterval(timer);
  }, [order]);
  return (
    <Loaded read={read}>
      {({ placed_order: order }) => order && <OrderView order={order} token={variables.token} reload={read.reload} />}
    </Loaded>
  );
}

function OrderView({ order, token, reload }: { order: OrderRecord; token: string | null; reload: () => Promise<void> }) {
  const again = useAction(async () => {
    const { order_reorder: cart } = await request(ReorderDocument, { id: order.id, token });
    if (cart.items.length === 0) throw new Refusal(cart.warnings.map(({ message }) => message).join(" "), "EMPTY");
    keepCart({ id: cart.id, quantity_total: cart.items.reduce((sum, { quantity }) => sum + quantity, 0) });
    navigate("/carrinho");
  });
  return (
    <>
      <Title name={`Pedido ${order.number}`}>Pedido {order.number}</Title>
      <p class="status" role="status" data-status={order.payment_status}>
        {orderStatus(order)}
      </p>
      <p class="quiet">Feito em {date(order.created_at)}</p>
      <div class="columns">
        <div>
          {isAwaiting(order) && (
            <Payment key={`${order.payments.length}`} order={order} token={token} reload={reload}>
              <p>{plainText(order.payment_method?.instructions ?? "")}</p>
            </Payment>
          )}
          <ul class="lines">
            {order.items.map((item, index) => (
              <li key={index}>
                <Picture image={item.product?.main_image && { ...item.product.main_image, alt: "" }} name={item.name} sizes="small" isFirst />
                <div>
                  {item.product?.slug ? <a href={`/produto/${item.product.slug}`}>{item.name}</a> : item.name}
                  <Chosen options={item.options} />
                  <small>{item.quantity} × {money(item.price_cents, order.currency)}</small>
                </div>
              </li>
            ))}
          </ul>
        </div>
        <aside class="summary" aria-label="Resumo">
          <Totals totals={order} currency={order.currency} />
          <p>{order.payment_method?.name}</p>
          <p>{order.shipping_method?.name} <small>{order.delivery_time}</small></p>
          {order.tracking_code && <p>Rastreio: {order.tracking_code}</p>}
          <Button isOff={again.isBusy} onClick={() => void again.run()}>Comprar de novo</Button>
          <Alert refusal={again.refusal} />
        </aside>
      </div>
    </>
  );
}
