import { useRead } from "../api/requests";
import { config } from "../config";
import { HomeDocument } from "../generated";
import { Title } from "../router";
import { Loaded } from "../ui/page";
import { Picture } from "../ui/picture";
import { Cards } from "../ui/products";

interface Banner {
  title: string;
  link?: string;
}

/** Return the content of a banner block; blocks are free-form. */
function bannerOf(block: { type: string; content: unknown }): Banner | null {
  const content = block.content as Partial<Banner> | null;
  return block.type === "banner" && typeof content?.title === "string" ? (content as Banner) : null;
}

export function Home() {
  return (
    <Loaded read={useRead(HomeDocument, {})}>
      {({ categories, blocks, pages, collections, product_connection }) => {
        const banner = blocks?.map(bannerOf).find(Boolean);
        // The banner has the picture of the page that it links to.
        const picture = pages?.find(({ slug }) => `/${slug}` === banner?.link)?.image;
        return (
          <>
            <section class={picture ? "hero pictured" : "hero"}>
              {picture && <Picture image={{ ...picture, alt: "" }} name="" sizes="hero" isFirst />}
              <div>
                <Title name={config.name} about={banner?.title}>{config.name}</Title>
                {banner && <p>{banner.title}</p>}
                {banner?.link?.startsWith("/") && (
                  <a class="button" href={`/pagina${banner.link}`}>
                    Conheça a loja
                  </a>
                )}
              </div>
            </section>
            <nav aria-label="Categorias em destaque">
              <ul class="tiles pictured">
                {categories
                  ?.filter((category) => category.parent_id === null)
                  .map((category) => (
                    <li key={category.id}>
                      <a href={`/categoria/${category.slug}`}>
                        {category.image && <Picture image={{ ...category.image, alt: "" }} name="" sizes="tile" isFirst />}
                        <span>{category.name}</span>
                      </a>
                    </li>
                  ))}
              </ul>
            </nav>
            <section>
              <h2>Novidades</h2>
              <Cards products={product_connection?.edges.map((edge) => edge.node) ?? []} isFirst />
            </section>
            {collections
              ?.filter((collection) => collection.products.edges.length > 0)
              .map((collection) => (
                <section key={collection.id}>
                  <h2><a href={`/colecao/${collection.slug}`}>{collection.name}</a></h2>
                  <Cards products={collection.products.edges.map((edge) => edge.node)} />
                </section>
              ))}
          </>
        );
      }}
    </Loaded>
  );
}
