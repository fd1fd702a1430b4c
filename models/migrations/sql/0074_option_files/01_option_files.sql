-- Files of shoppers for options of type F, once for each cart and order that has them: a cart's row gets its order at the checkout, and what
-- is put into a cart again is another row. A content is stored by `file_id`, and nowhere public. Rows without cart and order are deleted by a
-- job, with the content that no other row has.
CREATE TABLE option_files (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT option_files_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    file_id uuid NOT NULL,
    option_id bigint NOT NULL,
    cart_id bigint,
    order_id bigint,
    file_name text NOT NULL CONSTRAINT option_files_file_name_length CHECK (char_length(file_name) <= 255),
    mime_type text NOT NULL CONSTRAINT option_files_mime_type_length CHECK (char_length(mime_type) <= 255),
    bytes bigint NOT NULL CONSTRAINT option_files_bytes_not_negative CHECK (bytes >= 0),
    sha256 text NOT NULL CONSTRAINT option_files_sha256_form CHECK (sha256 ~ '^[0-9a-f]{64}$'),
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT option_files_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT option_files_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT option_files_option_fkey FOREIGN KEY (tenant_id, option_id) REFERENCES options (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT option_files_cart_fkey FOREIGN KEY (tenant_id, cart_id) REFERENCES carts (tenant_id, id) ON DELETE SET NULL (cart_id),
    CONSTRAINT option_files_order_fkey FOREIGN KEY (tenant_id, order_id) REFERENCES orders (tenant_id, id) ON DELETE SET NULL (order_id)
);
CREATE INDEX option_files_file_idx ON option_files (tenant_id, file_id);
CREATE INDEX option_files_option_idx ON option_files (tenant_id, option_id);
CREATE UNIQUE INDEX option_files_cart_key ON option_files (tenant_id, cart_id, file_id) WHERE cart_id IS NOT NULL;
CREATE INDEX option_files_order_idx ON option_files (tenant_id, order_id) WHERE order_id IS NOT NULL;
CREATE INDEX option_files_waiting_idx ON option_files (tenant_id, cart_id, bytes) WHERE order_id IS NULL;
SELECT vitrine_keep_apart('option_files');

-- What an option of type F takes: extensions separated by commas, empty for any, and KiB, 0 for as much as the store takes.
ALTER TABLE options
    ADD COLUMN allowed_extensions text NOT NULL DEFAULT ''
        CONSTRAINT options_allowed_extensions_length CHECK (char_length(allowed_extensions) <= 255),
    ADD COLUMN max_file_size integer NOT NULL DEFAULT 0 CONSTRAINT options_max_file_size_not_negative CHECK (max_file_size >= 0);
