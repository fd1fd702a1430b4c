-- What is sold: categories, products, their images and features.

CREATE TABLE categories (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT categories_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    name text NOT NULL,
    parent_id bigint CONSTRAINT categories_not_own_parent CHECK (parent_id <> id),
    id_path text NOT NULL DEFAULT '' CONSTRAINT categories_id_path_length CHECK (char_length(id_path) <= 500),
    position integer NOT NULL DEFAULT 0,
    status text NOT NULL DEFAULT 'A' CONSTRAINT categories_status_known CHECK (status IN ('A', 'D', 'H')),
    description text NOT NULL DEFAULT '',
    vendor_id bigint,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz,
    CONSTRAINT categories_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT categories_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT categories_parent_fkey FOREIGN KEY (tenant_id, parent_id)
        REFERENCES categories (tenant_id, id) ON DELETE RESTRICT,
    CONSTRAINT categories_vendor_fkey FOREIGN KEY (tenant_id, vendor_id)
        REFERENCES vendors (tenant_id, id) ON DELETE RESTRICT
);
CREATE INDEX categories_parent_idx ON categories (tenant_id, parent_id, position, id);
CREATE INDEX categories_vendor_idx ON categories (tenant_id, vendor_id);
-- For "everything below": id_path LIKE '3/17/%' written as a range in byte order.
CREATE INDEX categories_path_idx ON categories (tenant_id, id_path COLLATE "C");
CREATE INDEX categories_created_idx ON categories (tenant_id, created_at, id) WHERE deleted_at IS NULL;

CREATE TABLE products (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT products_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    vendor_id bigint,
    category_id bigint,
    name text NOT NULL,
    -- Cut, because an index holds at most 2,700 bytes a row; nobody sorts by what comes after.
    name_folded text COLLATE "C" NOT NULL GENERATED ALWAYS AS ("left"(vitrine_fold("left"(name, 200)), 200)) STORED,
    sku text NOT NULL DEFAULT '' CONSTRAINT products_sku_length CHECK (char_length(sku) <= 255),
    slug text NOT NULL CONSTRAINT products_slug_length CHECK (char_length(slug) BETWEEN 1 AND 255),
    description text NOT NULL DEFAULT '',
    short_description text NOT NULL DEFAULT '',
    status text NOT NULL DEFAULT 'A' CONSTRAINT products_status_known CHECK (status IN ('A', 'D', 'H', 'P')),
    price_cents bigint NOT NULL
        CONSTRAINT products_price_range CHECK (price_cents BETWEEN 0 AND 1000000000000000),
    compare_at_cents bigint
        CONSTRAINT products_compare_at_range CHECK (compare_at_cents BETWEEN 0 AND 1000000000000000),
    on_hand bigint NOT NULL DEFAULT 0,
    reserved bigint NOT NULL DEFAULT 0,
    stock bigint NOT NULL GENERATED ALWAYS AS (on_hand - reserved) STORED,
    tracking text NOT NULL DEFAULT 'B' CONSTRAINT products_tracking_known CHECK (tracking IN ('B', 'D')),
    weight_grams bigint NOT NULL DEFAULT 0 CONSTRAINT products_weight_not_negative CHECK (weight_grams >= 0),
    is_edp boolean NOT NULL DEFAULT false,
    free_shipping boolean NOT NULL DEFAULT false,
    min_quantity integer NOT NULL DEFAULT 0 CONSTRAINT products_min_quantity_not_negative CHECK (min_quantity >= 0),
    max_quantity integer NOT NULL DEFAULT 0 CONSTRAINT products_max_quantity_not_negative CHECK (max_quantity >= 0),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz,
    search tsvector NOT NULL GENERATED ALWAYS AS
        (vitrine_search_vector(tenant_id, name || ' ' || sku || ' ' || short_description || ' ' || description)) STORED,
    CONSTRAINT products_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT products_public_id_key UNIQUE (tenant_id, public_id),
    -- The last word on overselling, whatever the code above has computed.
    CONSTRAINT products_stock_not_oversold CHECK (on_hand >= 0 AND reserved >= 0 AND reserved <= on_hand),
    CONSTRAINT products_vendor_fkey FOREIGN KEY (tenant_id, vendor_id)
        REFERENCES vendors (tenant_id, id) ON DELETE RESTRICT,
    CONSTRAINT products_category_fkey FOREIGN KEY (tenant_id, category_id)
        REFERENCES categories (tenant_id, id) ON DELETE RESTRICT
);
CREATE UNIQUE INDEX products_slug_key ON products (tenant_id, slug) WHERE deleted_at IS NULL;
CREATE INDEX products_sku_idx ON products (tenant_id, sku, id) WHERE deleted_at IS NULL;
CREATE INDEX products_created_idx ON products (tenant_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX products_updated_idx ON products (tenant_id, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX products_price_idx ON products (tenant_id, price_cents, id) WHERE deleted_at IS NULL;
CREATE INDEX products_name_idx ON products (tenant_id, name_folded, id) WHERE deleted_at IS NULL;
CREATE INDEX products_stock_idx ON products (tenant_id, stock, id) WHERE deleted_at IS NULL;
CREATE INDEX products_status_idx ON products (tenant_id, status, id) WHERE deleted_at IS NULL;
CREATE INDEX products_vendor_idx ON products (tenant_id, vendor_id, id);
CREATE INDEX products_category_idx ON products (tenant_id, category_id, id);
-- Without fastupdate: its list of rows not yet sorted in is read whole by every search, and the planner shuns the index for it.
CREATE INDEX products_search_idx ON products USING gin (search) WITH (fastupdate = off);

CREATE TABLE product_categories (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT product_categories_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    product_id bigint NOT NULL,
    category_id bigint NOT NULL,
    position integer NOT NULL DEFAULT 0,
    CONSTRAINT product_categories_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT product_categories_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT product_categories_once_key UNIQUE (tenant_id, product_id, category_id),
    CONSTRAINT product_categories_product_fkey FOREIGN KEY (tenant_id, product_id)
        REFERENCES products (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT product_categories_category_fkey FOREIGN KEY (tenant_id, category_id)
        REFERENCES categories (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX product_categories_category_idx ON product_categories (tenant_id, category_id, product_id);

CREATE TABLE product_images (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT product_images_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    product_id bigint NOT NULL,
    url text NOT NULL,
    alt text NOT NULL DEFAULT '',
    position integer NOT NULL DEFAULT 0,
    width integer NOT NULL DEFAULT 0 CONSTRAINT product_images_width_not_negative CHECK (width >= 0),
    height integer NOT NULL DEFAULT 0 CONSTRAINT product_images_height_not_negative CHECK (height >= 0),
    CONSTRAINT product_images_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT product_images_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT product_images_product_fkey FOREIGN KEY (tenant_id, product_id)
        REFERENCES products (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX product_images_product_idx ON product_images (tenant_id, product_id, position, id);
