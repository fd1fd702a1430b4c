// Category and search: the same products, facets, sort and pages. Choices are in the address, so that it can be shared.

import { useEffect, useRef, useState } from "preact/hooks";
import { request, useRead } from "../api/requests";
import { config } from "../config";
import { count, money, plainText } from "../format";
import { CategoryPageDocument, CollectionPageDocument, SearchPageDocument, VendorPageDocument, type ProductSearchFilter, type ProductSearchSort, type SearchPageQuery, type VendorPageQuery } from "../generated";
import { menu } from "../menu";
import { navigate, place, Title } from "../router";
import { Alert, Button, useAction } from "../ui/form";
import { Html, Loaded } from "../ui/page";
import { Cards } from "../ui/products";
import { isWide } from "../ui/screen";

type Results = NonNullable<SearchPageQuery["product_search"]>;

const SORTS: Partial<Record<ProductSearchSort, string>> = {
  RELEVANCE: "Mais relevantes",
  BEST_SELLING_DESC: "Mais vendidos",
  CREATED_AT_DESC: "Lançamentos",
  PRICE_ASC: "Menor preço",
  PRICE_DESC: "Maior preço",
  RATING_DESC: "Mais bem avaliados",
  NAME_ASC: "De A a Z",
};

const LISTS = [["categoria", "below_category_id"], ["vendedor", "vendor_id"], ["etiqueta", "tag"]] as const;

/** Return the filter in the address: `?categoria=<id>&preco=5000-9999&vendedor=<id>&nota=4&disponivel=1&etiqueta=<tag>&<feature id>=<variant id>`. */
function filterOf(query: URLSearchParams): ProductSearchFilter {
  const filter: ProductSearchFilter = {};
  const [from, to] = query.get("preco")?.split("-") ?? [];
  if (from) filter.price_from = Number(from);
  if (to) filter.price_to = Number(to);
  for (const [name, key] of LISTS) if (query.has(name)) filter[key] = query.getAll(name);
  if (query.has("nota")) filter.rating_from = Number(query.get("nota"));
  if (query.has("disponivel")) filter.is_available = query.get("disponivel") === "1";
  const features = new Set([...query.keys()].filter((name) => /^[0-9a-f]{8}-/.test(name)));
  if (features.size) filter.features = [...features].map((id) => ({ feature_id: id, variant_ids: query.getAll(id) }));
  return filter;
}

const sortOf = (query: URLSearchParams) => (query.get("ordem") || undefined) as ProductSearchSort | undefined;

export function Category({ slug }: { slug: string }) {
  return (
    <Loaded read={menu.value}>
      {({ categories }) => {
        const known = categories?.find((category) => category.slug === slug);
        return known && <KnownCategory id={known.id} />;
      }}
    </Loaded>
  );
}

function KnownCategory({ id }: { id: string }) {
  const query = place.value.searchParams;
  const filter = { ...filterOf(query), below_category_id: [id] };
  const variables = { id, filter, sort: sortOf(query) };
  const read = useRead(CategoryPageDocument, variables);
  return (
    <Loaded read={read}>
      {({ category, product_search }) =>
        category && product_search ? (
          <>
            <nav aria-label="Onde estou">
              <ol class="path">
                <li><a href="/">Início</a></li>
                {category.path.map((each) => (
                  <li key={each.id}>{each.id === id ? <span aria-current="page">{each.name}</span> : <a href={`/categoria/${each.slug}`}>{each.name}</a>}</li>
                ))}
              </ol>
            </nav>
            <Title name={category.name} about={plainText(category.description)}>{category.name}</Title>
            {category.description && <Html text={category.description} />}
            {category.children.length > 0 && (
              <ul class="tiles">
                {category.children.map((child) => (
                  <li key={child.id}><a href={`/categoria/${child.slug}`}>{child.name} <small>{child.product_count}</small></a></li>
                ))}
              </ul>
            )}
            <Listing
              results={product_search}
              more={async (after) => (await request(CategoryPageDocument, { ...variables, after })).product_search}
            />
          </>
        ) : null
      }
    </Loaded>
  );
}

export function Search() {
  const query = place.value.searchParams;
  const text = query.get("q") ?? "";
  const variables = { query: text, filter: filterOf(query), sort: sortOf(query) };
  const read = useRead(SearchPageDocument, variables);
  return (
    <Loaded read={read}>
      {({ product_search: results }) =>
        results && (
          <>
            <Title name={`Busca: ${text}`}>Busca: {text}</Title>
            {results.corrected_query && (
              <p role="status">
                Nada para “{text}”. Mostrando <strong>{results.corrected_query}</strong>.
              </p>
            )}
            <Listing
              results={results}
              byCategory
              more={async (after) => (await request(SearchPageDocument, { ...variables, after })).product_search}
            />
          </>
        )
      }
    </Loaded>
  );
}

/** A vendor's own products, with the same choices as a search for everything. */
export function Vendor({ slug }: { slug: string }) {
  const read = useRead(VendorPageDocument, { slug });
  return <Loaded read={read}>{({ vendor }) => vendor && <KnownVendor vendor={vendor} />}</Loaded>;
}

function KnownVendor({ vendor }: { vendor: NonNullable<VendorPageQuery["vendor"]> }) {
  const query = place.value.searchParams;
  const filter = { ...filterOf(query), vendor_id: [vendor.id] };
  const variables = { query: "", filter, sort: sortOf(query) };
  const read = useRead(SearchPageDocument, variables);
  return (
    <Loaded read={read}>
      {({ product_search: results }) =>
        results && (
          <>
            <Title name={vendor.name} about={plainText(vendor.description)}>{vendor.name}</Title>
            {vendor.description && <Html text={vendor.description} />}
            <Listing
              results={results}
              byCategory
              more={async (after) => (await request(SearchPageDocument, { ...variables, after })).product_search}
            />
          </>
        )
      }
    </Loaded>
  );
}

/** Products picked by hand, in their order. */
export function Collection({ slug }: { slug: string }) {
  return (
    <Loaded read={useRead(CollectionPageDocument, { slug })}>
      {({ collection }) =>
        collection && (
          <>
            <Title name={collection.name} about={collection.description_text}>{collection.name}</Title>
            {collection.description && <Html text={collection.description} />}
            <Cards products={collection.products.edges.map((edge) => edge.node)} isFirst />
          </>
        )
      }
    </Loaded>
  );
}

interface ListingProps {
  results: Results | Omit<Results, "corrected_query">;
  byCategory?: boolean;
  more: (after: string) => Promise<Pick<Results, "edges" | "page_info"> | null>;
}

function Listing({ results, byCategory = false, more }: ListingProps) {
  const [later, setLater] = useState<Pick<Results, "edges" | "page_info">>();
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => setLater(undefined), [results]);
  const edges = [...results.edges, ...(later?.edges ?? [])];
  const { has_next_page, end_cursor } = (later ?? results).page_info;
  const present = useRef(results);
  present.current = results;
  const { run, isBusy, refusal } = useAction(async () => {
    const page = await more(end_cursor!);
    // Of choices that were changed meanwhile.
    if (!page || present.current !== results) return;
    setLater({ edges: [...(later?.edges ?? []), ...page.edges], page_info: page.page_info });
    requestAnimationFrame(() => list.current?.querySelectorAll<HTMLElement>(".card a")[edges.length]?.focus());
  });
  const query = place.value.searchParams;
  return (
    <div class="listing">
      <Facets facets={results.facets} byCategory={byCategory} />
      <div ref={list}>
        <div class="toolbar">
          <p role="status">{count(results.total, "produto", "produtos")}</p>
          <label>
            Ordenar{" "}
            <select value={sortOf(query) ?? "RELEVANCE"} onChange={(event) => choose("ordem", [event.currentTarget.value])}>
              {Object.entries(SORTS).map(([value, label]) => (
                <option key={value} value={value}>{label}</option>
              ))}
            </select>
          </label>
        </div>
        {edges.length === 0 && <p>Nenhum produto com estas escolhas. <a href={place.value.pathname + (query.has("q") ? `?q=${encodeURIComponent(query.get("q")!)}` : "")}>Limpar filtros</a></p>}
        <Cards products={edges.map((edge) => edge.node)} isFirst />
        {has_next_page && (
          <div class="more">
            <Button isOff={isBusy} onClick={() => void run()}>Mostrar mais produtos</Button>
            <small role="status">{edges.length} de {results.total}</small>
            <Alert refusal={refusal} />
          </div>
        )}
      </div>
    </div>
  );
}

/** Replace the values of one choice in the address. */
function choose(name: string, values: string[]): void {
  const url = new URL(place.value);
  url.searchParams.delete(name);
  for (const value of values) url.searchParams.append(name, value);
  navigate(url.href, true);
}

interface Choice {
  value: string;
  label: string;
  count: number;
}

const choice = (value: string, { name, count }: { name: string; count: number }): Choice => ({ value, label: name, count });

function Facets({ facets, byCategory }: { facets: Results["facets"]; byCategory: boolean }) {
  const [isOpen, setOpen] = useState(isWide.value);
  const price = (from: number, to: number | null) =>
    to === null ? `A partir de ${money(from, config.currency)}` : `${money(from, config.currency)} a ${money(to, config.currency)}`;
  return (
    <details class="facets" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Filtrar</summary>
      {byCategory && (
        <Facet name="categoria" title="Categoria" choices={facets.categories.map((each) => choice(each.category_id, each))} />
      )}
      <Facet
        name="preco"
        title="Preço"
        isSingle
        choices={facets.prices.map(({ from_cents: from, to_cents: to, count }) => ({ value: `${from}-${to ?? ""}`, label: price(from, to), count }))}
      />
      <Facet
        name="disponivel"
        title="Disponibilidade"
        isSingle
        choices={facets.availability.map(({ is_available: is, count }) => ({ value: is ? "1" : "0", label: is ? "Disponível" : "Esgotado", count }))}
      />
      <Facet
        name="nota"
        title="Avaliação"
        isSingle
        choices={facets.ratings.map(({ rating_from: from, count }) => ({ value: String(from), label: `${from} ★ ou mais`, count }))}
      />
      {facets.features.map((feature) => (
        <Facet
          key={feature.feature_id}
          name={feature.feature_id}
          title={feature.name}
          choices={feature.values.map((each) => choice(each.variant_id, each))}
        />
      ))}
      <Facet name="etiqueta" title="Etiqueta" choices={facets.tags.map((each) => choice(each.name, each))} />
      <Facet name="vendedor" title="Vendedor" choices={facets.vendors.map((each) => choice(each.vendor_id, each))} />
    </details>
  );
}

/** The values of one facet; of a single one at most one applies, and choosing it again removes it. */
function Facet({ name, title, choices, isSingle = false }: { name: string; title: string; choices: Choice[]; isSingle?: boolean }) {
  const chosen = place.value.searchParams.getAll(name);
  if (choices.length === 0) return null;
  function change(value: string, isChosen: boolean) {
    const others = isSingle ? [] : chosen.filter((each) => each !== value);
    choose(name, isChosen ? [...others, value] : others);
  }
  return (
    <fieldset>
      <legend>{title}</legend>
      {choices.map(({ value, label, count }) => (
        <label key={value} class="choice">
          <input type="checkbox" checked={chosen.includes(value)} onChange={(event) => change(value, event.currentTarget.checked)} />
          <span>{label}</span> <small>{count}</small>
        </label>
      ))}
    </fieldset>
  );
}
