-- Addresses that were, or are others': where each leads, to a record at its present address or to another address.
CREATE TABLE redirects (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT redirects_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    path text NOT NULL CONSTRAINT redirects_path_form CHECK (path ~ '^/' AND char_length(path) BETWEEN 2 AND 500),
    product_id bigint,
    category_id bigint,
    page_id bigint,
    vendor_id bigint,
    link text CONSTRAINT redirects_link_length CHECK (char_length(link) BETWEEN 1 AND 2048),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT redirects_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT redirects_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT redirects_path_key UNIQUE (tenant_id, path),
    CONSTRAINT redirects_one_target CHECK (num_nonnulls(product_id, category_id, page_id, vendor_id, link) = 1),
    CONSTRAINT redirects_product_fkey FOREIGN KEY (tenant_id, product_id) REFERENCES products (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT redirects_category_fkey FOREIGN KEY (tenant_id, category_id) REFERENCES categories (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT redirects_page_fkey FOREIGN KEY (tenant_id, page_id) REFERENCES pages (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT redirects_vendor_fkey FOREIGN KEY (tenant_id, vendor_id) REFERENCES vendors (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX redirects_product_idx ON redirects (tenant_id, product_id) WHERE product_id IS NOT NULL;
CREATE INDEX redirects_category_idx ON redirects (tenant_id, category_id) WHERE category_id IS NOT NULL;
CREATE INDEX redirects_page_idx ON redirects (tenant_id, page_id) WHERE page_id IS NOT NULL;
CREATE INDEX redirects_vendor_idx ON redirects (tenant_id, vendor_id) WHERE vendor_id IS NOT NULL;
-- The path of a link, as paths are compared.
CREATE FUNCTION vitrine_path(link text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
    SELECT rtrim(lower(split_part(split_part(link, '?', 1), '#', 1) COLLATE "C"), '/')
$function$;
CREATE INDEX redirects_link_idx ON redirects (tenant_id, md5(vitrine_path(link))) WHERE link IS NOT NULL;
SELECT vitrine_keep_apart('redirects');

-- A record whose slug changes keeps its former address, and what led there leads to the record. A trigger, because every interface, import
-- and earlier version changes slugs. The arguments are the segment of the addresses and the column of the record.
CREATE FUNCTION vitrine_keep_address() RETURNS trigger LANGUAGE plpgsql AS $function$
DECLARE
    prefix text := '/' || TG_ARGV[0] || '/';
    former text := prefix || lower(OLD.slug COLLATE "C");
    present text := prefix || lower(NEW.slug COLLATE "C");
BEGIN
    DELETE FROM redirects WHERE tenant_id = NEW.tenant_id AND path = present;
    IF former = present THEN
        RETURN NULL;
    END IF;
    EXECUTE format(
        'INSERT INTO redirects (tenant_id, public_id, path, %I) VALUES ($1, vitrine_uuid7(), $2, $3)'
        ' ON CONFLICT (tenant_id, path) DO UPDATE SET product_id = excluded.product_id, category_id = excluded.category_id,'
        ' page_id = excluded.page_id, vendor_id = excluded.vendor_id, link = NULL, updated_at = now()', TG_ARGV[1]
    ) USING NEW.tenant_id, former, NEW.id;
    EXECUTE format(
        'UPDATE redirects SET link = NULL, %I = $3, updated_at = now()'
        ' WHERE tenant_id = $1 AND link IS NOT NULL AND md5(vitrine_path(link)) = md5($2)', TG_ARGV[1]
    ) USING NEW.tenant_id, former, NEW.id;
    RETURN NULL;
END
$function$;
REVOKE EXECUTE ON FUNCTION vitrine_keep_address() FROM PUBLIC;

DO $$
DECLARE
    store_table text;
    segment text;
    record_column text;
BEGIN
    FOR store_table, segment, record_column IN VALUES ('products', 'produto', 'product_id'), ('categories', 'categoria', 'category_id'),
        ('pages', 'pagina', 'page_id'), ('vendors', 'vendedor', 'vendor_id')
    LOOP
        EXECUTE format(
            'CREATE TRIGGER keep_address AFTER UPDATE OF slug ON %I FOR EACH ROW'
            ' WHEN (OLD.slug <> NEW.slug AND NEW.deleted_at IS NULL) EXECUTE FUNCTION vitrine_keep_address(%L, %L)',
            store_table, segment, record_column
        );
    END LOOP;
END
$$;
