-- Collections keep their former addresses, as products do (0063).
ALTER TABLE redirects ADD COLUMN collection_id bigint;
ALTER TABLE redirects DROP CONSTRAINT redirects_one_target;
ALTER TABLE redirects
    ADD CONSTRAINT redirects_one_target CHECK (num_nonnulls(product_id, category_id, page_id, vendor_id, collection_id, link) = 1),
    ADD CONSTRAINT redirects_collection_fkey FOREIGN KEY (tenant_id, collection_id)
        REFERENCES collections (tenant_id, id) ON DELETE CASCADE;
CREATE INDEX redirects_collection_idx ON redirects (tenant_id, collection_id) WHERE collection_id IS NOT NULL;
CREATE OR REPLACE FUNCTION vitrine_keep_address() RETURNS trigger LANGUAGE plpgsql AS $function$
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
        ' page_id = excluded.page_id, vendor_id = excluded.vendor_id, collection_id = excluded.collection_id, link = NULL,'
        ' updated_at = now()', TG_ARGV[1]
    ) USING NEW.tenant_id, former, NEW.id;
    EXECUTE format(
        'UPDATE redirects SET link = NULL, %I = $3, updated_at = now()'
        ' WHERE tenant_id = $1 AND link IS NOT NULL AND md5(vitrine_path(link)) = md5($2)', TG_ARGV[1]
    ) USING NEW.tenant_id, former, NEW.id;
    RETURN NULL;
END
$function$;
CREATE TRIGGER keep_address AFTER UPDATE OF slug ON collections FOR EACH ROW
    WHEN (OLD.slug <> NEW.slug AND NEW.deleted_at IS NULL) EXECUTE FUNCTION vitrine_keep_address('colecao', 'collection_id');
