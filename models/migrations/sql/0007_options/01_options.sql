-- What a buyer chooses of a product: options and their variants, combinations with a stock of their own, and what excludes what.

CREATE TABLE options (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT options_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    -- Null for an option that several products share (product_options).
    product_id bigint,
    vendor_id bigint,
    name text NOT NULL,
    type text NOT NULL DEFAULT 'S' CONSTRAINT options_type_known CHECK (type IN ('S', 'R', 'C', 'I', 'T', 'F')),
    required boolean NOT NULL DEFAULT false,
    inventory boolean NOT NULL DEFAULT false
        CONSTRAINT options_inventory_of_variants CHECK (NOT inventory OR type IN ('S', 'R', 'C')),
    status text NOT NULL DEFAULT 'A' CONSTRAINT options_status_known CHECK (status IN ('A', 'D')),
    position integer NOT NULL DEFAULT 0,
    description text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz,
    CONSTRAINT options_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT options_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT options_product_fkey FOREIGN KEY (tenant_id, product_id)
        REFERENCES products (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT options_vendor_fkey FOREIGN KEY (tenant_id, vendor_id)
        REFERENCES vendors (tenant_id, id) ON DELETE RESTRICT
);
CREATE INDEX options_product_idx ON options (tenant_id, product_id, position, id);
CREATE INDEX options_vendor_idx ON options (tenant_id, vendor_id, id);
CREATE INDEX options_position_idx ON options (tenant_id, position, id) WHERE deleted_at IS NULL;
CREATE INDEX options_name_idx ON options (tenant_id, name, id) WHERE deleted_at IS NULL;

CREATE TABLE option_variants (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT option_variants_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    option_id bigint NOT NULL,
    name text NOT NULL,
    -- Cents for A, hundredths of a percent of the product's price for P; both may be below zero.
    modifier bigint NOT NULL DEFAULT 0
        CONSTRAINT option_variants_modifier_range CHECK (modifier BETWEEN -1000000000000000 AND 1000000000000000),
    modifier_type text NOT NULL DEFAULT 'A' CONSTRAINT option_variants_modifier_type_known CHECK (modifier_type IN ('A', 'P')),
    position integer NOT NULL DEFAULT 0,
    image_url text NOT NULL DEFAULT '',
    image_alt text NOT NULL DEFAULT '',
    CONSTRAINT option_variants_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT option_variants_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT option_variants_option_fkey FOREIGN KEY (tenant_id, option_id)
        REFERENCES options (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX option_variants_option_idx ON option_variants (tenant_id, option_id, position, id);

CREATE TABLE product_options (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT product_options_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    product_id bigint NOT NULL,
    option_id bigint NOT NULL,
    position integer NOT NULL DEFAULT 0,
    CONSTRAINT product_options_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT product_options_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT product_options_once_key UNIQUE (tenant_id, product_id, option_id),
    CONSTRAINT product_options_product_fkey FOREIGN KEY (tenant_id, product_id)
        REFERENCES products (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT product_options_option_fkey FOREIGN KEY (tenant_id, option_id)
        REFERENCES options (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX product_options_option_idx ON product_options (tenant_id, option_id, product_id);

CREATE TABLE combinations (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT combinations_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    product_id bigint NOT NULL,
    -- <option>_<variant>_<option>_<variant>, options in ascending order.
    hash text COLLATE "C" NOT NULL CONSTRAINT combinations_hash_form CHECK (hash ~ '^[0-9]+_[0-9]+(_[0-9]+_[0-9]+)*$'),
    sku text NOT NULL DEFAULT '' CONSTRAINT combinations_sku_length CHECK (char_length(sku) <= 255),
    -- Added to the product's price; may be below zero.
    price_cents bigint NOT NULL DEFAULT 0
        CONSTRAINT combinations_price_range CHECK (price_cents BETWEEN -1000000000000000 AND 1000000000000000),
    on_hand bigint NOT NULL DEFAULT 0,
    reserved bigint NOT NULL DEFAULT 0,
    stock bigint NOT NULL GENERATED ALWAYS AS (on_hand - reserved) STORED,
    position integer NOT NULL DEFAULT 0,
    image_url text NOT NULL DEFAULT '',
    image_alt text NOT NULL DEFAULT '',
    image_width integer NOT NULL DEFAULT 0 CONSTRAINT combinations_image_width_not_negative CHECK (image_width >= 0),
    image_height integer NOT NULL DEFAULT 0 CONSTRAINT combinations_image_height_not_negative CHECK (image_height >= 0),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz,
    CONSTRAINT combinations_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT combinations_public_id_key UNIQUE (tenant_id, public_id),
    -- The last word on overselling, whatever the code above has computed.
    CONSTRAINT combinations_stock_not_oversold CHECK (on_hand >= 0 AND reserved >= 0 AND reserved <= on_hand),
    CONSTRAINT combinations_product_fkey FOREIGN KEY (tenant_id, product_id)
        REFERENCES products (tenant_id, id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX combinations_hash_key ON combinations (tenant_id, hash, product_id) WHERE deleted_at IS NULL;
CREATE INDEX combinations_product_idx ON combinations (tenant_id, product_id, position, id);
CREATE INDEX combinations_position_idx ON combinations (tenant_id, position, id) WHERE deleted_at IS NULL;
CREATE INDEX combinations_sku_idx ON combinations (tenant_id, sku, id) WHERE deleted_at IS NULL;
CREATE INDEX combinations_stock_idx ON combinations (tenant_id, stock, id) WHERE deleted_at IS NULL;
CREATE INDEX combinations_created_idx ON combinations (tenant_id, created_at, id) WHERE deleted_at IS NULL;

CREATE TABLE combination_choices (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT combination_choices_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    combination_id bigint NOT NULL,
    option_id bigint NOT NULL,
    variant_id bigint NOT NULL,
    CONSTRAINT combination_choices_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT combination_choices_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT combination_choices_once_key UNIQUE (tenant_id, combination_id, option_id),
    CONSTRAINT combination_choices_combination_fkey FOREIGN KEY (tenant_id, combination_id)
        REFERENCES combinations (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT combination_choices_option_fkey FOREIGN KEY (tenant_id, option_id)
        REFERENCES options (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT combination_choices_variant_fkey FOREIGN KEY (tenant_id, variant_id)
        REFERENCES option_variants (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX combination_choices_option_idx ON combination_choices (tenant_id, option_id);
CREATE INDEX combination_choices_variant_idx ON combination_choices (tenant_id, variant_id);

CREATE TABLE option_exceptions (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT option_exceptions_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    product_id bigint NOT NULL,
    type text NOT NULL CONSTRAINT option_exceptions_type_known CHECK (type IN ('F', 'A')),
    hash text COLLATE "C" NOT NULL CONSTRAINT option_exceptions_hash_form CHECK (hash ~ '^[0-9]+_[0-9]+(_[0-9]+_[0-9]+)*$'),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT option_exceptions_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT option_exceptions_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT option_exceptions_once_key UNIQUE (tenant_id, product_id, type, hash),
    CONSTRAINT option_exceptions_product_fkey FOREIGN KEY (tenant_id, product_id)
        REFERENCES products (tenant_id, id) ON DELETE CASCADE
);

CREATE TABLE exception_choices (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT exception_choices_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    exception_id bigint NOT NULL,
    option_id bigint NOT NULL,
    variant_id bigint NOT NULL,
    CONSTRAINT exception_choices_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT exception_choices_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT exception_choices_once_key UNIQUE (tenant_id, exception_id, option_id),
    CONSTRAINT exception_choices_exception_fkey FOREIGN KEY (tenant_id, exception_id)
        REFERENCES option_exceptions (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT exception_choices_option_fkey FOREIGN KEY (tenant_id, option_id)
        REFERENCES options (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT exception_choices_variant_fkey FOREIGN KEY (tenant_id, variant_id)
        REFERENCES option_variants (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX exception_choices_option_idx ON exception_choices (tenant_id, option_id);
CREATE INDEX exception_choices_variant_idx ON exception_choices (tenant_id, variant_id);
