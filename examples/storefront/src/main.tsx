// The shop: its frame and its routes. Pages that most visitors don't open are loaded when they are.

import { render, type ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { findCart } from "./api/cart";
import { isSignedIn } from "./api/session";
import { config } from "./config";
import { keepFocus } from "./focus";
import { addressOf, footerItems, headerItems, loadMenu, menu } from "./menu";
import { Content } from "./pages/content";
import { Home } from "./pages/home";
import { Category, Collection, Search, Vendor } from "./pages/listing";
import { Product } from "./pages/product";
import { navigate, place, startRouter } from "./router";
import { CartCount } from "./ui/cart-count";
import { Icon } from "./ui/icons";
import { NotFound } from "./ui/page";
import { Picture } from "./ui/picture";
import { isWide } from "./ui/screen";
import "./styles.css";

type Page = ComponentType<{ slug: string }>;

/** A page in a file of its own. */
function lazy<Name extends string>(load: () => Promise<Record<Name, Page>>, name: Name): Page {
  return function Lazy(props) {
    const [page, setPage] = useState<{ Page: Page }>();
    useEffect(() => void load().then((module) => setPage({ Page: module[name] })), []);
    return page ? <page.Page {...props} /> : <p class="loading" role="status">Carregando…</p>;
  };
}

const session = () => import("./pages/session");
const account = () => import("./pages/account");
const profile = () => import("./pages/profile");

const ROUTES: [pattern: RegExp, page: Page][] = [
  [/^\/$/, Home],
  [/^\/categoria\/(.+)$/, Category],
  [/^\/colecao\/(.+)$/, Collection],
  [/^\/vendedor\/(.+)$/, Vendor],
  [/^\/produto\/(.+)$/, Product],
  [/^\/busca$/, Search],
  [/^\/carrinho$/, lazy(() => import("./pages/cart"), "Cart")],
  [/^\/pagina\/(.+)$/, Content],
  [/^\/finalizar$/, lazy(() => import("./pages/checkout"), "Checkout")],
  [/^\/pedido$/, lazy(() => import("./pages/order"), "Order")],
  [/^\/entrar$/, lazy(session, "SignIn")],
  [/^\/criar-conta$/, lazy(session, "SignUp")],
  [/^\/senha$/, lazy(session, "ForgottenPassword")],
  [/^\/conta\/codigo$/, lazy(session, "MailedCode")],
  [/^\/conta$/, lazy(account, "Account")],
  [/^\/conta\/enderecos$/, lazy(account, "Addresses")],
  [/^\/conta\/dados$/, lazy(profile, "Profile")],
  [/^\/conta\/excluida$/, lazy(profile, "Deleted")],
  [/^\/conta\/seguranca$/, lazy(() => import("./pages/security"), "Security")],
];

/** The slug in the path of a page, empty where it has none; null where the path isn't the page's, or isn't text. */
function slugIn(match: RegExpExecArray | null): string | null {
  try {
    return match && decodeURIComponent(match[1] ?? "");
  } catch {
    return null;
  }
}

function Shop() {
  const path = place.value.pathname;
  const [slug, Page] = ROUTES.map(([pattern, page]) => [slugIn(pattern.exec(path)), page] as const).find(([slug]) => slug !== null) ?? ["", NotFound];
  return (
    <>
      <a class="skip" href="#content">Pular para o conteúdo</a>
      <Header />
      <main id="content" tabIndex={-1}>
        <Page key={path} slug={slug!} />
      </main>
      <Footer />
    </>
  );
}

function Header() {
  const logo = menu.value.data?.store?.logo;
  return (
    <header>
      <div class="bar">
        <a class="store" href="/">
          {/* Its place is there before the menu is read. */}
          {config.has_logo && (
            <span class="logo">
              {logo && <Picture image={{ ...logo, alt: "" }} name="" sizes="logo" isFirst />}
            </span>
          )}
          {config.name}
        </a>
        <a class="tool" href={isSignedIn.value ? "/conta" : "/entrar"}>
          <Icon name="person" />
          <span>{isSignedIn.value ? "Conta" : "Entrar"}</span>
        </a>
        <a class="tool" href="/carrinho">
          <Icon name="cart" />
          <span>Carrinho</span>
          <CartCount />
        </a>
      </div>
      <form
        class="search"
        role="search"
        onSubmit={(event) => {
          event.preventDefault();
          const text = String(new FormData(event.currentTarget).get("q")).trim();
          if (text) navigate(`/busca?q=${encodeURIComponent(text)}`);
        }}
      >
        <input key={place.value.search} type="search" name="q" aria-label="Buscar na loja" placeholder="Buscar na loja" defaultValue={place.value.searchParams.get("q") ?? ""} />
        <button aria-label="Buscar">
          <Icon name="search" />
        </button>
      </form>
      {/* A new page closes the menu. */}
      <details key={place.value.pathname} class="menu" open={isWide.value}>
        <summary>
          <Icon name="menu" /> Categorias
        </summary>
        <nav aria-label="Categorias">
          <ul>
            {headerItems().map((item) => (
              <li key={item.id}>
                <MenuLink {...item} />
              </li>
            ))}
          </ul>
        </nav>
      </details>
    </header>
  );
}

function MenuLink(item: ReturnType<typeof headerItems>[number]) {
  const address = addressOf(item);
  return address ? <a href={address} aria-current={place.value.pathname === address ? "page" : undefined}>{item.name}</a> : <b>{item.name}</b>;
}

function Footer() {
  return (
    <footer>
      <nav aria-label="Institucional">
        <ul>
          {footerItems().map(({ items, ...item }) => (
            <li key={item.id}>
              <MenuLink {...item} />
              {items?.length ? <ul>{items.map((below) => <li key={below.id}><MenuLink {...below} /></li>)}</ul> : null}
            </li>
          ))}
        </ul>
      </nav>
      <p>{config.name} · loja de exemplo feita com Vitrine</p>
    </footer>
  );
}

startRouter();
keepFocus();
render(<Shop />, document.getElementById("shop")!);
void loadMenu();
void findCart().catch(() => undefined);
