-- Every field that a list of products, orders or users can be sorted by has an index, so that none sorts a whole store for one page.

CREATE INDEX products_compare_at_idx ON products (tenant_id, coalesce(compare_at_cents, 0), id) WHERE deleted_at IS NULL;
CREATE INDEX orders_subtotal_idx ON orders (tenant_id, subtotal_cents, id) WHERE deleted_at IS NULL;
CREATE INDEX orders_shipping_idx ON orders (tenant_id, shipping_cents, id) WHERE deleted_at IS NULL;
CREATE INDEX orders_discount_idx ON orders (tenant_id, discount_cents, id) WHERE deleted_at IS NULL;
CREATE INDEX orders_payment_status_idx ON orders (tenant_id, payment_status, id) WHERE deleted_at IS NULL;
CREATE INDEX users_last_login_idx ON users (tenant_id, coalesce(last_login_at, 'epoch'), id) WHERE deleted_at IS NULL;
