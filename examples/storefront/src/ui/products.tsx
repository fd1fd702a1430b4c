// Products in lists: price, card.

import { config } from "../config";
import { money } from "../format";
import { Picture, type Image } from "./picture";

interface Pricing {
  price_cents: number;
  base_cents: number;
  discount_cents?: number;
}

export interface CardProduct {
  id: string;
  name: string;
  slug: string | null;
  is_available: boolean;
  in_advance?: boolean;
  main_image: Image | null;
  pricing: Pricing | null;
  compare_at_cents?: number | null;
  average_rating?: number | null;
  review_count?: number;
}

/** What one unit costs this customer, and what it would cost without promotions or cost before. */
export function Price({ pricing, compareAt, currency = config.currency }: { pricing: Pricing | null; compareAt?: number | null; currency?: string }) {
  if (!pricing) return null;
  const before = Math.max(pricing.base_cents, compareAt ?? 0);
  return (
    <span class="price">
      {before > pricing.price_cents && (
        <s>
          <span class="hidden">De </span>
          {money(before, currency)}
        </s>
      )}
      <strong>
        {before > pricing.price_cents && <span class="hidden">por </span>}
        {money(pricing.price_cents, currency)}
      </strong>
    </span>
  );
}

export function Rating({ average, reviews }: { average?: number | null; reviews?: number }) {
  if (!average || !reviews) return null;
  return (
    <span class="rating" role="img" aria-label={`Nota ${average.toLocaleString("pt-BR")} de 5, ${reviews} avaliações`}>
      ★ {average.toLocaleString("pt-BR", { maximumFractionDigits: 1 })} ({reviews})
    </span>
  );
}

export function Card({ product, isFirst }: { product: CardProduct; isFirst?: boolean }) {
  return (
    <li class="card">
      <a href={`/produto/${product.slug}`}>
        <Picture image={product.main_image && { ...product.main_image, alt: "" }} name={product.name} sizes="card" isFirst={isFirst} />
        <span class="name">{product.name}</span>
        <Rating average={product.average_rating} reviews={product.review_count} />
        <Price pricing={product.pricing} compareAt={product.compare_at_cents} />
        {!product.is_available && <span class="sold-out">Esgotado</span>}
        {product.in_advance && <span class="tag">Pré-venda</span>}
      </a>
    </li>
  );
}

export function Cards({ products, isFirst = false }: { products: CardProduct[]; isFirst?: boolean }) {
  return (
    <ul class="cards">
      {products.map((product, index) => (
        // By place: another order changes what the cards show, and a card that moved would be a layout shift.
        <Card key={index} product={product} isFirst={isFirst && index < 4} />
      ))}
    </ul>
  );
}

interface ChosenOption {
  name: string;
  value: string;
  file: { url: string; mime_type: string } | null;
}

/** The same file at the shop's own host, the only one whose pictures its pages show. */
function ownAddress(url: string): string {
  const { pathname, search } = new URL(url);
  return pathname + search;
}

/** What was chosen for a line; the customer's own picture is shown. */
export function Chosen({ options }: { options: ChosenOption[] }) {
  return (
    <>
      {options.map(({ name, value, file }) => (
        <small key={name}>
          {name}: {file ? <a href={ownAddress(file.url)}>{value}</a> : value}
          {file?.mime_type.startsWith("image/") && <img class="upload" src={ownAddress(file.url)} alt="" width="48" height="48" />}
        </small>
      ))}
    </>
  );
}
