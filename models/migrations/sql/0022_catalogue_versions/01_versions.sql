-- The version of each store's catalogue, which moves in the transaction of every change that a read of the catalogue can show.
-- It is the sum of the store's rows. A transaction raises one of them, chosen by its backend, at its end (a deferred trigger): writers of
-- one store seldom wait for each other, for no longer than a commit, and never while they hold a lock that others still need.
CREATE TABLE catalogue_versions (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT catalogue_versions_tenant_fkey REFERENCES tenants (id),
    slot smallint NOT NULL,
    version bigint NOT NULL,
    CONSTRAINT catalogue_versions_pkey PRIMARY KEY (tenant_id, slot)
) WITH (fillfactor = 50);
SELECT vitrine_keep_apart('catalogue_versions');

-- As the owner and for the row's store: other roles and functions write such rows too, without a store or for it only while they run.
CREATE FUNCTION vitrine_move_catalogue_version() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $function$
DECLARE
    store text := CASE TG_OP WHEN 'DELETE' THEN OLD.tenant_id ELSE NEW.tenant_id END;
    bound text := current_setting('vitrine.tenant', true);
BEGIN
    -- Once for each transaction of a store, whatever the number of changed rows; the store itself may have been deleted.
    IF coalesce(current_setting('vitrine.moved_catalogue', true), '') <> store THEN
        PERFORM set_config('vitrine.moved_catalogue', store, true), set_config('vitrine.tenant', store, true);
        INSERT INTO catalogue_versions (tenant_id, slot, version)
        SELECT id, pg_backend_pid() % 16, 1 FROM tenants WHERE id = store::bigint
        ON CONFLICT (tenant_id, slot) DO UPDATE SET version = catalogue_versions.version + 1;
        PERFORM set_config('vitrine.tenant', coalesce(bound, ''), true);
    END IF;
    RETURN NULL;
END
$function$;
REVOKE EXECUTE ON FUNCTION vitrine_move_catalogue_version() FROM PUBLIC;

DO $$
DECLARE
    catalogue_table text;
BEGIN
    FOREACH catalogue_table IN ARRAY ARRAY[
        'products', 'product_categories', 'product_images', 'product_options', 'product_taxes', 'product_boxes', 'box_descriptions',
        'required_products', 'attachments', 'features', 'feature_categories', 'feature_variants', 'feature_values',
        'feature_value_variants', 'options', 'option_variants', 'option_exceptions', 'exception_choices', 'combinations',
        'combination_choices', 'categories', 'vendors', 'discussion_threads', 'discussion_posts', 'pages', 'blocks', 'languages',
        'language_variables', 'promotions', 'promotion_uses', 'payment_methods', 'payment_method_taxes'
    ] LOOP
        EXECUTE format(
            'CREATE CONSTRAINT TRIGGER catalogue_version AFTER INSERT OR UPDATE OR DELETE ON %I'
            ' DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION vitrine_move_catalogue_version()',
            catalogue_table
        );
    END LOOP;
END
$$;
