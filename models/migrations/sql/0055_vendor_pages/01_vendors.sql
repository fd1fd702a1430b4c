-- What the page of a vendor shows besides its logo.
ALTER TABLE vendors ADD COLUMN description text NOT NULL DEFAULT '';
CREATE TABLE vendor_banners (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT vendor_banners_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    vendor_id bigint NOT NULL,
    image_url text NOT NULL CONSTRAINT vendor_banners_url_length CHECK (char_length(image_url) BETWEEN 1 AND 2048),
    image_alt text NOT NULL DEFAULT '' CONSTRAINT vendor_banners_alt_length CHECK (char_length(image_alt) <= 255),
    media_id bigint,
    CONSTRAINT vendor_banners_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT vendor_banners_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT vendor_banners_vendor_key UNIQUE (tenant_id, vendor_id),
    CONSTRAINT vendor_banners_vendor_fkey FOREIGN KEY (tenant_id, vendor_id) REFERENCES vendors (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT vendor_banners_media_fkey FOREIGN KEY (tenant_id, media_id) REFERENCES media_files (tenant_id, id)
);
CREATE INDEX vendor_banners_media_idx ON vendor_banners (tenant_id, media_id) WHERE media_id IS NOT NULL;
SELECT vitrine_keep_apart('vendor_banners');
CREATE CONSTRAINT TRIGGER catalogue_version AFTER INSERT OR UPDATE OR DELETE ON vendor_banners
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION vitrine_move_catalogue_version();
