-- The file and the alternative text of a store's logo, whose link is the setting logo_url. A row counts while that setting is still the one
-- it was written for (`setting_url`): a version before it changes the setting alone.
CREATE TABLE store_logos (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT store_logos_tenant_fkey REFERENCES tenants (id),
    setting_url text NOT NULL CONSTRAINT store_logos_setting_url_length CHECK (char_length(setting_url) BETWEEN 1 AND 2048),
    image_url text NOT NULL CONSTRAINT store_logos_url_length CHECK (char_length(image_url) BETWEEN 1 AND 2048),
    image_alt text NOT NULL DEFAULT '' CONSTRAINT store_logos_alt_length CHECK (char_length(image_alt) <= 255),
    media_id bigint,
    CONSTRAINT store_logos_pkey PRIMARY KEY (tenant_id),
    CONSTRAINT store_logos_media_fkey FOREIGN KEY (tenant_id, media_id) REFERENCES media_files (tenant_id, id)
);
CREATE INDEX store_logos_media_idx ON store_logos (tenant_id, media_id) WHERE media_id IS NOT NULL;
SELECT vitrine_keep_apart('store_logos');
CREATE CONSTRAINT TRIGGER catalogue_version AFTER INSERT OR UPDATE OR DELETE ON store_logos
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION vitrine_move_catalogue_version();
