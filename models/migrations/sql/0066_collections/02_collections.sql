-- Products picked by hand, in their order, with a page of their own.
CREATE TABLE collections (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT collections_tenant_fkey REFERENCES tenants (id),
    id bigint NOT NULL,
    public_id uuid NOT NULL,
    name text NOT NULL CONSTRAINT collections_name_length CHECK (char_length(name) BETWEEN 1 AND 255),
    slug text NOT NULL CONSTRAINT collections_slug_length CHECK (char_length(slug) BETWEEN 1 AND 255),
    description text NOT NULL DEFAULT '',
    status text NOT NULL DEFAULT 'A' CONSTRAINT collections_status_known CHECK (status IN ('A', 'D')),
    position integer NOT NULL DEFAULT 0 CONSTRAINT collections_position_range CHECK (position >= 0),
    image_url text NOT NULL DEFAULT '' CONSTRAINT collections_image_url_length CHECK (char_length(image_url) <= 2048),
    image_alt text NOT NULL DEFAULT '' CONSTRAINT collections_image_alt_length CHECK (char_length(image_alt) <= 255),
    media_id bigint,
    page_title text NOT NULL DEFAULT '' CONSTRAINT collections_page_title_length CHECK (char_length(page_title) <= 255),
    meta_keywords text NOT NULL DEFAULT '' CONSTRAINT collections_meta_keywords_length CHECK (char_length(meta_keywords) <= 2048),
    meta_description text NOT NULL DEFAULT '',
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz,
    CONSTRAINT collections_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT collections_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT collections_media_fkey FOREIGN KEY (tenant_id, media_id) REFERENCES media_files (tenant_id, id)
);
CREATE UNIQUE INDEX collections_slug_key ON collections (tenant_id, slug) WHERE deleted_at IS NULL;
CREATE INDEX collections_position_idx ON collections (tenant_id, position, id) WHERE deleted_at IS NULL;
CREATE INDEX collections_media_idx ON collections (tenant_id, media_id) WHERE media_id IS NOT NULL;
CREATE TRIGGER set_slug BEFORE INSERT OR UPDATE OF slug ON collections FOR EACH ROW EXECUTE FUNCTION vitrine_set_slug('collection');

CREATE TABLE collection_products (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT collection_products_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    collection_id bigint NOT NULL,
    product_id bigint NOT NULL,
    position integer NOT NULL DEFAULT 0,
    CONSTRAINT collection_products_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT collection_products_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT collection_products_product_key UNIQUE (tenant_id, collection_id, product_id),
    CONSTRAINT collection_products_collection_fkey FOREIGN KEY (tenant_id, collection_id)
        REFERENCES collections (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT collection_products_product_fkey FOREIGN KEY (tenant_id, product_id)
        REFERENCES products (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX collection_products_position_idx ON collection_products (tenant_id, collection_id, position, product_id);
CREATE INDEX collection_products_product_idx ON collection_products (tenant_id, product_id);

DO $$
DECLARE
    store_table text;
BEGIN
    FOREACH store_table IN ARRAY ARRAY['product_tags', 'collections', 'collection_products'] LOOP
        PERFORM vitrine_keep_apart(store_table);
        EXECUTE format(
            'CREATE CONSTRAINT TRIGGER catalogue_version AFTER INSERT OR UPDATE OR DELETE ON %I'
            ' DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION vitrine_move_catalogue_version()',
            store_table
        );
    END LOOP;
END
$$;
SELECT vitrine_number_by_store('collections');
