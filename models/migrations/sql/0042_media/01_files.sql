-- The store's own images and files. A pending one is awaited: its upload, or the worker that fetches its source; a failed one is tried again
-- at next_attempt_at, if there is any. One that turns out to be the same picture as another keeps only its source: `original_id` is the other.
CREATE TABLE media_files (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT media_files_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    sha256 text CONSTRAINT media_files_sha256_form CHECK (sha256 ~ '^[0-9a-f]{64}$'),
    file_name text NOT NULL DEFAULT '' CONSTRAINT media_files_file_name_length CHECK (char_length(file_name) <= 255),
    mime_type text NOT NULL DEFAULT '' CONSTRAINT media_files_mime_type_length CHECK (char_length(mime_type) <= 255),
    bytes bigint NOT NULL DEFAULT 0 CONSTRAINT media_files_bytes_not_negative CHECK (bytes >= 0),
    width integer NOT NULL DEFAULT 0 CONSTRAINT media_files_width_not_negative CHECK (width >= 0),
    height integer NOT NULL DEFAULT 0 CONSTRAINT media_files_height_not_negative CHECK (height >= 0),
    blurhash text NOT NULL DEFAULT '' CONSTRAINT media_files_blurhash_length CHECK (char_length(blurhash) <= 255),
    alt text NOT NULL DEFAULT '' CONSTRAINT media_files_alt_length CHECK (char_length(alt) <= 255),
    status text NOT NULL DEFAULT 'pending' CONSTRAINT media_files_status_known CHECK (status IN ('pending', 'ready', 'failed')),
    error text NOT NULL DEFAULT '' CONSTRAINT media_files_error_length CHECK (char_length(error) <= 1000),
    source_url text CONSTRAINT media_files_source_url_length CHECK (char_length(source_url) BETWEEN 1 AND 2048),
    -- What the source said about the content, for the next request.
    source_etag text NOT NULL DEFAULT '' CONSTRAINT media_files_source_etag_length CHECK (char_length(source_etag) <= 1000),
    source_modified text NOT NULL DEFAULT '' CONSTRAINT media_files_source_modified_length CHECK (char_length(source_modified) <= 1000),
    attempts integer NOT NULL DEFAULT 0 CONSTRAINT media_files_attempts_not_negative CHECK (attempts >= 0),
    next_attempt_at timestamptz,
    original_id bigint,
    -- The customer, or the vendor whose user, uploaded it. No keys: users and vendors refer to files themselves.
    user_id bigint,
    vendor_id bigint,
    -- Since when no record refers to it, as far as the job that deletes such files has seen.
    unused_since timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT media_files_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT media_files_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT media_files_ready_content CHECK (status <> 'ready' OR sha256 IS NOT NULL OR original_id IS NOT NULL),
    CONSTRAINT media_files_original_fkey FOREIGN KEY (tenant_id, original_id) REFERENCES media_files (tenant_id, id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX media_files_sha256_key ON media_files (tenant_id, sha256) WHERE sha256 IS NOT NULL;
-- By a digest, because an index holds at most 2,700 bytes a row.
CREATE UNIQUE INDEX media_files_source_key ON media_files (tenant_id, md5(source_url)) WHERE source_url IS NOT NULL;
CREATE INDEX media_files_created_idx ON media_files (tenant_id, created_at, id);
CREATE INDEX media_files_due_idx ON media_files (next_attempt_at) WHERE next_attempt_at IS NOT NULL;
CREATE INDEX media_files_original_idx ON media_files (tenant_id, original_id) WHERE original_id IS NOT NULL;
CREATE INDEX media_files_user_idx ON media_files (tenant_id, user_id, created_at) WHERE user_id IS NOT NULL;
CREATE INDEX media_files_vendor_idx ON media_files (tenant_id, vendor_id, id) WHERE vendor_id IS NOT NULL;
SELECT vitrine_keep_apart('media_files');
CREATE CONSTRAINT TRIGGER catalogue_version AFTER INSERT OR UPDATE OR DELETE ON media_files
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION vitrine_move_catalogue_version();

-- The pictures of a review.
CREATE TABLE review_images (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT review_images_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    post_id bigint NOT NULL,
    position integer NOT NULL DEFAULT 0,
    image_url text NOT NULL CONSTRAINT review_images_url_length CHECK (char_length(image_url) BETWEEN 1 AND 2048),
    image_alt text NOT NULL DEFAULT '' CONSTRAINT review_images_alt_length CHECK (char_length(image_alt) <= 255),
    media_id bigint,
    CONSTRAINT review_images_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT review_images_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT review_images_post_fkey FOREIGN KEY (tenant_id, post_id) REFERENCES discussion_posts (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX review_images_post_idx ON review_images (tenant_id, post_id, position, id);
SELECT vitrine_keep_apart('review_images');
CREATE CONSTRAINT TRIGGER catalogue_version AFTER INSERT OR UPDATE OR DELETE ON review_images
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION vitrine_move_catalogue_version();
