-- What else belongs to a product, and the boxes things are packed in.

CREATE TABLE attachments (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT attachments_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    product_id bigint NOT NULL,
    description text NOT NULL DEFAULT '',
    filename text NOT NULL,
    url text NOT NULL,
    filesize bigint NOT NULL DEFAULT 0 CONSTRAINT attachments_filesize_not_negative CHECK (filesize >= 0),
    position integer NOT NULL DEFAULT 0,
    status text NOT NULL DEFAULT 'A' CONSTRAINT attachments_status_known CHECK (status IN ('A', 'D')),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT attachments_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT attachments_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT attachments_product_fkey FOREIGN KEY (tenant_id, product_id)
        REFERENCES products (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX attachments_product_idx ON attachments (tenant_id, product_id, position, id);

CREATE TABLE required_products (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT required_products_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    product_id bigint NOT NULL,
    required_id bigint NOT NULL CONSTRAINT required_products_not_itself CHECK (required_id <> product_id),
    position integer NOT NULL DEFAULT 0,
    CONSTRAINT required_products_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT required_products_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT required_products_once_key UNIQUE (tenant_id, product_id, required_id),
    CONSTRAINT required_products_product_fkey FOREIGN KEY (tenant_id, product_id)
        REFERENCES products (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT required_products_required_fkey FOREIGN KEY (tenant_id, required_id)
        REFERENCES products (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX required_products_required_idx ON required_products (tenant_id, required_id);

CREATE TABLE product_boxes (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT product_boxes_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    name text NOT NULL,
    height_mm bigint NOT NULL DEFAULT 0 CONSTRAINT product_boxes_height_not_negative CHECK (height_mm >= 0),
    width_mm bigint NOT NULL DEFAULT 0 CONSTRAINT product_boxes_width_not_negative CHECK (width_mm >= 0),
    length_mm bigint NOT NULL DEFAULT 0 CONSTRAINT product_boxes_length_not_negative CHECK (length_mm >= 0),
    weight_grams bigint NOT NULL DEFAULT 0 CONSTRAINT product_boxes_weight_not_negative CHECK (weight_grams >= 0),
    max_weight_grams bigint NOT NULL DEFAULT 0 CONSTRAINT product_boxes_max_weight_not_negative CHECK (max_weight_grams >= 0),
    status text NOT NULL DEFAULT 'A' CONSTRAINT product_boxes_status_known CHECK (status IN ('A', 'D')),
    position integer NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz,
    CONSTRAINT product_boxes_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT product_boxes_public_id_key UNIQUE (tenant_id, public_id)
);
CREATE INDEX product_boxes_position_idx ON product_boxes (tenant_id, position, id) WHERE deleted_at IS NULL;

CREATE TABLE box_descriptions (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT box_descriptions_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    box_id bigint NOT NULL,
    lang_code text NOT NULL DEFAULT 'pt'
        CONSTRAINT box_descriptions_lang_code_form CHECK (lang_code COLLATE "C" ~ '^[a-z]{2}(-[A-Z]{2})?$'),
    title text NOT NULL DEFAULT '',
    full_description text NOT NULL DEFAULT '',
    meta_keywords text NOT NULL DEFAULT '',
    meta_description text NOT NULL DEFAULT '',
    CONSTRAINT box_descriptions_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT box_descriptions_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT box_descriptions_language_key UNIQUE (tenant_id, box_id, lang_code),
    CONSTRAINT box_descriptions_box_fkey FOREIGN KEY (tenant_id, box_id)
        REFERENCES product_boxes (tenant_id, id) ON DELETE CASCADE
);
