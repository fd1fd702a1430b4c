// What the delivery of a product to a CEP costs, and how long it takes.

import { useEffect, useState } from "preact/hooks";
import { request } from "../api/requests";
import { money } from "../format";
import { DeliveryQuoteDocument, type DeliveryQuoteQuery } from "../generated";
import { Field, Form } from "./form";

interface DeliveryProps {
  product: { id: string; currency: string };
  quantity: number;
}

export function Delivery({ product, quantity }: DeliveryProps) {
  const [zipcode, setZipcode] = useState<string>();
  const [quotes, setQuotes] = useState<DeliveryQuoteQuery["shipping_quotes"]>();
  async function quote(zipcode: string) {
    setQuotes((await request(DeliveryQuoteDocument, { product: product.id, zipcode, quantity })).shipping_quotes);
    setZipcode(zipcode);
  }
  // More units may weigh too much for a carrier.
  useEffect(() => {
    if (zipcode) void quote(zipcode).catch(() => setQuotes(undefined));
  }, [quantity]);
  return (
    <>
      <h2>Frete e prazo</h2>
      <Form class="coupon" label="Calcular" submit={({ zipcode = "" }) => quote(zipcode)}>
        {(fields) => <Field name="zipcode" label="CEP" inputMode="numeric" autoComplete="postal-code" error={fields.zipcode} />}
      </Form>
      <div role="status">
        {quotes?.length === 0 && <p>Não entregamos neste CEP.</p>}
        {quotes && quotes.length > 0 && (
          <dl class="features">
            {quotes.map((each) => (
              <div key={each.shipping_method_id}>
                <dt>{each.name}</dt>
                <dd>
                  <strong>{each.price_cents ? money(each.price_cents, product.currency) : "Grátis"}</strong>
                  {each.delivery_time && <small> {each.delivery_time}</small>}
                </dd>
              </div>
            ))}
          </dl>
        )}
      </div>
    </>
  );
}
