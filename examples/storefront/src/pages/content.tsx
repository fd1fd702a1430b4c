import { useRead } from "../api/requests";
import { plainText } from "../format";
import { ContentPageDocument } from "../generated";
import { Title } from "../router";
import { Html, Loaded } from "../ui/page";

export function Content({ slug }: { slug: string }) {
  return (
    <Loaded read={useRead(ContentPageDocument, { slug })}>
      {({ page, pages }) => {
        const below = pages?.filter((each) => each.parent_id === page?.id && each.slug) ?? [];
        return (
          page && (
            <article class="narrow">
              {page.parent && <p><a href={`/pagina/${page.parent.slug}`}>{page.parent.name}</a></p>}
              <Title name={page.page_title || page.name} about={page.meta_description || plainText(page.description)}>{page.name}</Title>
              <Html text={page.description} />
              {below.length > 0 && <ul>{below.map((each) => <li key={each.id}><a href={`/pagina/${each.slug}`}>{each.name}</a></li>)}</ul>}
            </article>
          )
        );
      }}
    </Loaded>
  );
}
