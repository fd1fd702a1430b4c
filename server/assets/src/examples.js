import products from './examples/01_products.graphql';
import productPage from './examples/02_product_page.graphql';
import order from './examples/03_order.graphql';
import productCreate from './examples/04_product_create.graphql';
import orderSetStatus from './examples/05_order_set_status.graphql';
import store from './examples/06_store.graphql';

/** The default tabs, left to right; each is titled by its operation name. */
export const examples = [products, productPage, order, productCreate, orderSetStatus, store].map((query) => ({ query }));
