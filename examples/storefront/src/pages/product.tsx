import { useEffect, useState } from "preact/hooks";
import { addToCart, type Files } from "../api/cart";
import { request, useRead } from "../api/requests";
import { isSignedIn } from "../api/session";
import { count, date, money, percent, plainText } from "../format";
import { ProductPageDocument, ProductPriceDocument, WriteReviewDocument } from "../generated";
import { combinationOf, firstChoice, isOffered, withVariant, type Choice, type Option, type Product as ProductRecord } from "../options";
import { Title } from "../router";
import type { Delivery as DeliveryForm } from "../ui/delivery";
import { Alert, Button, Form, useAction } from "../ui/form";
import { Html, Loaded } from "../ui/page";
import { Picture, type Image } from "../ui/picture";
import { Cards, Price, Rating } from "../ui/products";

const FEW = 5;

export function Product({ slug }: { slug: string }) {
  const read = useRead(ProductPageDocument, { slug });
  return <Loaded read={read}>{({ product }) => product && <ProductView key={product.id} product={product} reload={read.reload} />}</Loaded>;
}

function ProductView({ product, reload }: { product: ProductRecord; reload: () => Promise<void> }) {
  const [choice, setChoice] = useState<Choice>(() => firstChoice(product));
  const [quantity, setQuantity] = useState(() => nextQuantities(product, 0).above ?? 1);
  const combination = combinationOf(product, choice);
  return (
    <>
      <nav aria-label="Onde estou">
        <ol class="path">
          <li><a href="/">Início</a></li>
          {product.category?.path.map((each) => (
            <li key={each.id}><a href={`/categoria/${each.slug}`}>{each.name}</a></li>
          ))}
        </ol>
      </nav>
      <article class="product">
        <Gallery product={product} picture={combination?.image ?? null} />
        <div>
          <Title name={product.seo.title || product.name} about={product.seo.description || plainText(product.description)}>{product.name}</Title>
          {product.vendor && <p class="quiet">por <a href={`/vendedor/${product.vendor.slug}`}>{product.vendor.name}</a></p>}
          <Rating average={product.average_rating} reviews={product.review_count} />
          <Purchase product={product} choice={choice} setChoice={setChoice} quantity={quantity} setQuantity={setQuantity} />
          {!product.is_edp && <Delivery product={product} quantity={quantity} />}
          {product.description && <Html text={product.description} />}
          <Features product={product} />
        </div>
      </article>
      <Reviews product={product} reload={reload} />
      {product.related.length > 0 && (
        <section>
          <h2>Você também pode gostar</h2>
          <Cards products={product.related.map((each) => ({ ...each, is_available: true }))} />
        </section>
      )}
    </>
  );
}

/** Its form is loaded after the page, where it has its place. */
function Delivery(props: { product: ProductRecord; quantity: number }) {
  const [loaded, setLoaded] = useState<{ Form: typeof DeliveryForm }>();
  useEffect(() => void import("../ui/delivery").then(({ Delivery }) => setLoaded({ Form: Delivery })), []);
  return <section class="delivery">{loaded && <loaded.Form {...props} />}</section>;
}

function Gallery({ product, picture }: { product: ProductRecord; picture: Image | null }) {
  const [chosen, setChosen] = useState(0);
  const shown = picture ?? product.images[chosen];
  return (
    <div class="gallery">
      <Picture image={shown} name={product.name} sizes="product" isFirst />
      {product.images.length > 1 && (
        <ul>
          {product.images.map((image, index) => (
            <li key={image.id}>
              <button aria-label={`Imagem ${index + 1}: ${image.alt || product.name}`} aria-pressed={index === chosen} onClick={() => setChosen(index)}>
                <Picture image={{ ...image, alt: "" }} name={product.name} sizes="small" isFirst />
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

interface ChoiceProps {
  product: ProductRecord;
  choice: Choice;
  setChoice: (choice: Choice) => void;
}

interface PurchaseProps extends ChoiceProps {
  quantity: number;
  setQuantity: (quantity: number) => void;
}

function Purchase({ product, choice, setChoice, quantity, setQuantity }: PurchaseProps) {
  const [isAdded, setAdded] = useState(false);
  const [files, setFiles] = useState<Files>({});
  const options = Object.keys(choice).length ? choice : null;
  const priced = useRead(ProductPriceDocument, options && { id: product.id, options });
  const combination = combinationOf(product, choice);
  const isAvailable = product.combinations.length ? Boolean(combination?.is_available) : product.is_available;
  const stock = product.combinations.length ? combination?.stock : product.available_quantity;
  const missing = product.options.filter(({ id, required }) => required && !choice[id] && !files[id]);
  const { refusal, isBusy, run } = useAction(async () => {
    setAdded(false);
    await addToCart({ product_id: product.id, quantity, options: choice }, files);
    setAdded(true);
  });
  return (
    <form
      class="purchase"
      onSubmit={(event) => {
        event.preventDefault();
        void run();
      }}
    >
      <p aria-live="polite" aria-busy={priced.isLoading && options !== null}>
        <Price
          pricing={(options && priced.data?.product?.pricing) || product.pricing}
          compareAt={product.compare_at_cents}
          currency={product.currency}
        />
      </p>
      {product.pricing?.promotions.map(({ name }) => <p key={name} class="promotion">{name}</p>)}
      {product.options.map((option) =>
        option.type === "F" ? (
          <FileField key={option.id} option={option} files={files} setFiles={setFiles} />
        ) : (
          <OptionField key={option.id} option={option} product={product} choice={choice} setChoice={setChoice} />
        ),
      )}
      <p class="quiet" aria-live="polite">
        {isAvailable ? availability(product, stock) : isAhead(product) ? `À venda a partir de ${date(product.available_since!)}.` : "Esgotado nesta escolha."}
      </p>
      <div class="buy">
        <Quantity value={quantity} limits={product} change={setQuantity} />
        <button class="primary" disabled={!isAvailable || missing.length > 0} aria-disabled={isBusy}>
          {!isAvailable ? "Esgotado" : product.in_advance ? "Comprar na pré-venda" : "Adicionar ao carrinho"}
        </button>
      </div>
      <p role="status">
        {isAdded && (
          <>
            Adicionado. <a href="/carrinho">Ver carrinho</a>
          </>
        )}
      </p>
      <Alert refusal={refusal} />
    </form>
  );
}

const isAhead = ({ available_since }: ProductRecord): boolean => available_since !== null && new Date(available_since) > new Date();

function availability(product: ProductRecord, stock: number | null | undefined): string {
  if (product.in_advance) return isAhead(product) ? `Pré-venda: disponível em ${date(product.available_since!)}.` : "Pré-venda: enviado quando voltar ao estoque.";
  const isFew = product.available_quantity !== null && stock != null && stock <= FEW;
  return isFew ? `Só ${count(stock, "unidade", "unidades")} em estoque.` : "Em estoque.";
}

type Limits = Pick<ProductRecord, "min_quantity" | "max_quantity" | "quantity_step" | "quantity_choices">;

/** Return the quantities next to one in which the product is sold; null where there is none. */
function nextQuantities(limits: Partial<Limits>, quantity: number, others = 0) {
  const step = limits.quantity_step || 1;
  const least = Math.ceil((limits.min_quantity || 1) / step) * step;
  const most = Math.min(limits.max_quantity || Infinity, step * limits.quantity_choices! || Infinity);
  const total = quantity + others;
  const below = Math.min(Math.ceil(total / step) - 1, Math.floor(most / step)) * step;
  const above = Math.max((Math.floor(total / step) + 1) * step, least);
  return { below: below < Math.max(least, others + 1) ? null : below - others, above: above > most ? null : above - others };
}

interface QuantityProps {
  value: number;
  limits: Partial<Limits> | null;
  /** Units of the product in other lines: its limits are for all of them. */
  others?: number;
  label?: string;
  isOff?: boolean;
  change: (value: number) => void;
}

export function Quantity({ value, limits, others, label = "Quantidade", isOff = false, change }: QuantityProps) {
  const { below, above } = nextQuantities(limits ?? {}, value, others);
  return (
    <span class="quantity" role="group" aria-label={label}>
      <Button type="button" aria-label="Menos um" isOff={isOff || below === null} onClick={() => change(below!)}>−</Button>
      <output aria-live="polite">{value}</output>
      <Button type="button" aria-label="Mais um" isOff={isOff || above === null} onClick={() => change(above!)}>+</Button>
    </span>
  );
}

function FileField({ option, files, setFiles }: { option: Option; files: Files; setFiles: (files: Files) => void }) {
  const accept = (option.allowed_extensions ?? "").split(",").filter(Boolean).map((extension) => `.${extension}`).join(",");
  const set = (file: File | undefined) => {
    const { [option.id]: _, ...others } = files;
    setFiles(file ? { ...others, [option.id]: file } : others);
  };
  return (
    <label class="field">
      {option.name} {!option.required && "(opcional)"}
      <input type="file" accept={accept || undefined} required={option.required} onChange={(event) => set(event.currentTarget.files?.[0])} />
    </label>
  );
}

const TYPED = new Set(["I", "T"]);

function OptionField({ option, product, choice, setChoice }: ChoiceProps & { option: Option }) {
  const chosen = choice[option.id] ?? "";
  const set = (value: string) => {
    const { [option.id]: _, ...others } = choice;
    setChoice(value === "" ? others : { ...others, [option.id]: value });
  };
  const extra = (modifier: number, type: string) => {
    const amount = Math.abs(modifier);
    return modifier === 0 ? "" : ` (${modifier > 0 ? "+" : "−"}${type === "A" ? money(amount, product.currency) : percent(amount)})`;
  };
  if (TYPED.has(option.type)) {
    return (
      <label class="field">
        {option.name} {!option.required && "(opcional)"}
        <input value={chosen} required={option.required} onChange={(event) => set(event.currentTarget.value.trim())} />
      </label>
    );
  }
  if (option.type === "C") {
    const variant = option.variants[0];
    return variant ? (
      <label class="choice">
        <input type="checkbox" checked={chosen === variant.id} onChange={(event) => set(event.currentTarget.checked ? variant.id : "")} />
        <span>
          {option.name}: {variant.name}
          {extra(variant.modifier, variant.modifier_type)}
        </span>
      </label>
    ) : null;
  }
  return (
    <fieldset class="variants">
      <legend>{option.name}</legend>
      {option.variants.map((variant) => (
        <label key={variant.id} class={isOffered(product, choice, option.id, variant.id) ? "" : "unavailable"}>
          <input
            type="radio"
            name={option.id}
            checked={chosen === variant.id}
            onChange={() => setChoice(withVariant(product, choice, option.id, variant.id))}
          />
          <span>
            {variant.name}
            {extra(variant.modifier, variant.modifier_type)}
            {!isOffered(product, choice, option.id, variant.id) && <span class="hidden">, indisponível com as outras escolhas</span>}
          </span>
        </label>
      ))}
    </fieldset>
  );
}

function Features({ product }: { product: ProductRecord }) {
  const shown = product.features.filter(({ feature, value }) => feature?.display_on_product && value);
  if (shown.length === 0) return null;
  return (
    <>
      <h2>Detalhes</h2>
      <dl class="features">
        {shown.map(({ id, feature, value }) => (
          <div key={id}>
            <dt>{feature!.name}</dt>
            <dd>{value === "Y" ? "Sim" : value === "N" ? "Não" : value}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}

function Reviews({ product, reload }: { product: ProductRecord; reload: () => Promise<void> }) {
  const [thanks, setThanks] = useState("");
  async function submit(values: Record<string, string>) {
    const input = { product_id: product.id, rating: Number(values.rating), message: values.message };
    const { review_create } = await request(WriteReviewDocument, { input });
    setThanks(review_create?.status === "A" ? "Obrigado pela avaliação." : "Obrigado. A avaliação aparece depois de aprovada.");
    await reload();
  }
  if (product.reviews.length === 0 && !isSignedIn.value) return null;
  return (
    <section class="reviews">
      <h2>Avaliações</h2>
      <ul>
        {product.reviews.map((review) => (
          <li key={review.id}>
            <strong>{review.name}</strong> {review.rating && <span aria-label={`Nota ${review.rating} de 5`} role="img">{"★".repeat(review.rating)}</span>}
            <small>{date(review.created_at)}</small>
            <p>{review.message}</p>
          </li>
        ))}
      </ul>
      {isSignedIn.value && (
        <details>
          <summary>Escrever uma avaliação</summary>
          <Form label="Enviar avaliação" submit={submit}>
            {(fields) => (
              <>
                <label class="field">
                  Nota
                  <select name="rating" aria-invalid={fields.rating ? "true" : undefined}>
                    {[5, 4, 3, 2, 1].map((rating) => <option key={rating} value={rating}>{rating} de 5</option>)}
                  </select>
                </label>
                <label class="field">
                  Sua opinião
                  <textarea name="message" rows={3} aria-invalid={fields.message ? "true" : undefined} />
                  {fields.message && <small class="error">{fields.message}</small>}
                </label>
              </>
            )}
          </Form>
          <p role="status">{thanks}</p>
        </details>
      )}
    </section>
  );
}
