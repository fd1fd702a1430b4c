"""Stores of the sizes that an installation has: one like the Olist marketplace, and many of a few records."""

from __future__ import annotations

import asyncpg

from kernel.scope import Store
from tests.harness.sample_store import SampleStore

PRODUCTS, ORDERS, USERS = 6_000, 8_000, 8_000

_FILL = """
insert into users (public_id, email, firstname, lastname, user_type, status, vendor_id, created_at, updated_at)
select gen_random_uuid(), 'pessoa' || n || '@exemplo.com.br', 'Nome' || n % 97, 'Sobre' || md5(n::text),
       case when n % 50 = 0 then 'V' else 'C' end, case when n % 9 = 0 then 'D' else 'A' end,
       case when n % 50 = 0 then $1::bigint end, t.at, t.at
from generate_series(1, {users}) n, lateral (select timestamptz '2017-01-01' + n * interval '2 hours' as at) t;

insert into categories (public_id, name, id_path)
select gen_random_uuid(), 'Categoria ' || n, '' from generate_series(1, 70) n;
update categories set id_path = id::text where id_path = '';

insert into vendors (public_id, name, email)
select gen_random_uuid(), 'Loja ' || n, 'loja' || n || '@exemplo.com.br' from generate_series(1, 300) n;

insert into products (public_id, name, slug, sku, description, status, price_cents, on_hand, vendor_id, category_id,
                      created_at, updated_at)
select gen_random_uuid(), 'Produto ' || md5(n::text), 'produto-' || n, 'SKU' || n, 'bom e barato',
       case when n % 11 = 0 then 'H' else 'A' end, 500 + n * 7919 % 90000, n % 90,
       (select array_agg(id) from vendors)[1 + n % 300], (select array_agg(id) from categories)[1 + n % 70],
       t.at, t.at + n % 400 * interval '1 hour'
from generate_series(1, {products}) n, lateral (select timestamptz '2016-06-01' + n * interval '3 hours' as at) t;

insert into product_categories (public_id, product_id, category_id)
select gen_random_uuid(), id, category_id from products p where category_id is not null
and not exists (select from product_categories pc where pc.product_id = p.id and pc.category_id = p.category_id);

insert into product_images (public_id, product_id, url) select gen_random_uuid(), id, 'https://exemplo.com.br/' || id from products;
insert into feature_values (public_id, product_id, feature_id, value)
select gen_random_uuid(), p.id, f.id, 'azul' from products p, (select min(id) as id from features) f
on conflict do nothing;
insert into combinations (public_id, product_id, hash)
select gen_random_uuid(), id, id || '_' || id from products where id % 3 = 0 on conflict do nothing;
insert into discussion_threads (public_id, object_type, object_id)
select gen_random_uuid(), 'P', id from products where id % 2 = 0 on conflict do nothing;
insert into discussion_posts (public_id, thread_id, message) select gen_random_uuid(), id, 'bom' from discussion_threads;

with customers as (select array_agg(id order by id) as ids from users where user_type = 'C'),
     marketplace_vendors as (select array_agg(id order by id) as ids from vendors)
insert into orders (public_id, user_id, vendor_id, status, email, firstname, lastname, subtotal_cents, total_cents, payment_status,
                    created_at, updated_at)
select gen_random_uuid(), customers.ids[1 + n % 7000], case when n % 20 > 0 then marketplace_vendors.ids[1 + n % 300] end,
       (array['C', 'C', 'C', 'C', 'P', 'I', 'O', 'B'])[1 + n % 8], 'pessoa' || n || '@exemplo.com.br', 'Nome' || n % 97,
       'Sobre' || md5(n::text), 1000 + n, 1000 + n * 31 % 50000, 'paid', t.at, t.at + n % 300 * interval '1 hour'
from customers, marketplace_vendors, generate_series(1, {orders}) n,
     lateral (select timestamptz '2016-09-01' + n * interval '2 hours' as at) t;

with sold as (select array_agg(id order by id) as ids from products),
     placed_orders as (select id, vendor_id, row_number() over (order by id) as n from orders where imported = false)
insert into order_lines (public_id, order_id, position, product_id, vendor_id, product_name, product_code, quantity, price_cents,
                         base_price_cents)
select gen_random_uuid(), placed_orders.id, 10 + line, sold.ids[1 + (n * 7 + line) % {products}], placed_orders.vendor_id, 'Produto', 'SKU',
       1, 1000, 1000
from placed_orders, sold, generate_series(1, 2) line where line = 1 or n % 8 = 0;
"""

_TABLES = (
    "categories", "vendors", "users", "products", "product_categories", "product_images", "options", "option_variants", "product_options",
    "combinations", "features", "feature_variants", "feature_values", "feature_value_variants", "discussion_threads", "discussion_posts",
    "orders", "order_addresses", "order_lines",
)  # fmt: skip
_COLUMNS = """
select attname::text as name from pg_attribute
where attrelid = $1::text::regclass and attnum > 0 and not attisdropped and attgenerated = ''
"""


async def fill_like_olist(url: str, sample: SampleStore, share: int = 1) -> None:
    """Add the records of the marketplace, or one of `share` of them, to a store."""
    connection = await asyncpg.connect(url)
    await connection.execute("select set_config('vitrine.tenant', $1, false)", str(sample.store.id))
    sizes = {"users": USERS // share, "products": PRODUCTS // share, "orders": ORDERS // share}
    await connection.execute(_FILL.format(**sizes).replace("$1", str(sample.vendor.number)))
    await connection.close()


async def copy_many_times(superuser_url: str, store: Store, copies: int) -> None:
    """Copy the catalogue and the orders of a store into new stores, where the records have the same numbers."""
    connection = await asyncpg.connect(superuser_url)
    await connection.execute("set session_replication_role = replica")  # without triggers
    await connection.execute(
        f"insert into tenants (public_id, name) select gen_random_uuid(), 'Copy' from generate_series(1, {copies})"
    )
    for table in _TABLES:
        values = {row["name"]: f"rows.{row['name']}" for row in await connection.fetch(_COLUMNS, table)}
        values |= {"tenant_id": "copies.id", "public_id": "gen_random_uuid()"}
        await connection.execute(
            f"insert into {table} ({', '.join(values)}) overriding system value select {', '.join(values.values())}"
            f" from tenants copies, {table} rows where copies.name = 'Copy' and rows.tenant_id = {store.id}"
        )
    await connection.close()


async def analyze(url: str) -> None:
    """Update the statistics of the tables, and for index-only scans which of their pages are visible to all."""
    connection = await asyncpg.connect(url)
    # VACUUM does not mark pages as visible whose commit is not on disk yet.
    await connection.execute("set synchronous_commit = on")
    for table in (*_TABLES, "search_entries", "search_words", "unlisted_products", "sessions"):
        await connection.execute(f"vacuum (analyze) {table}")
    await connection.close()
