-- Menus of a storefront. The items of a menu are in the order of their places, each below the one at its parent's place.
CREATE TABLE menus (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT menus_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    handle text NOT NULL CONSTRAINT menus_handle_form CHECK (handle ~ '^[a-z0-9][a-z0-9_-]{0,63}$'),
    name text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT menus_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT menus_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT menus_handle_key UNIQUE (tenant_id, handle)
);

CREATE TABLE menu_items (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT menu_items_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    menu_id bigint NOT NULL,
    place integer NOT NULL CONSTRAINT menu_items_place_range CHECK (place BETWEEN 1 AND 999),
    parent_place integer,
    name text NOT NULL,
    product_id bigint,
    category_id bigint,
    page_id bigint,
    vendor_id bigint,
    link text CONSTRAINT menu_items_link_length CHECK (char_length(link) BETWEEN 1 AND 2048),
    -- Places as one number each, for the relation of items to those below them.
    node bigint NOT NULL GENERATED ALWAYS AS (menu_id * 1000 + place) STORED,
    parent_node bigint GENERATED ALWAYS AS (menu_id * 1000 + parent_place) STORED,
    CONSTRAINT menu_items_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT menu_items_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT menu_items_place_key UNIQUE (tenant_id, menu_id, place),
    CONSTRAINT menu_items_parent_before CHECK (parent_place < place),
    CONSTRAINT menu_items_one_target CHECK (num_nonnulls(product_id, category_id, page_id, vendor_id, link) <= 1),
    CONSTRAINT menu_items_menu_fkey FOREIGN KEY (tenant_id, menu_id) REFERENCES menus (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT menu_items_product_fkey FOREIGN KEY (tenant_id, product_id) REFERENCES products (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT menu_items_category_fkey FOREIGN KEY (tenant_id, category_id) REFERENCES categories (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT menu_items_page_fkey FOREIGN KEY (tenant_id, page_id) REFERENCES pages (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT menu_items_vendor_fkey FOREIGN KEY (tenant_id, vendor_id) REFERENCES vendors (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX menu_items_parent_idx ON menu_items (tenant_id, parent_node) WHERE parent_node IS NOT NULL;
CREATE INDEX menu_items_product_idx ON menu_items (tenant_id, product_id) WHERE product_id IS NOT NULL;
CREATE INDEX menu_items_category_idx ON menu_items (tenant_id, category_id) WHERE category_id IS NOT NULL;
CREATE INDEX menu_items_page_idx ON menu_items (tenant_id, page_id) WHERE page_id IS NOT NULL;
CREATE INDEX menu_items_vendor_idx ON menu_items (tenant_id, vendor_id) WHERE vendor_id IS NOT NULL;

DO $$
DECLARE
    menu_table text;
BEGIN
    FOREACH menu_table IN ARRAY ARRAY['menus', 'menu_items'] LOOP
        PERFORM vitrine_keep_apart(menu_table);
        EXECUTE format(
            'CREATE CONSTRAINT TRIGGER catalogue_version AFTER INSERT OR UPDATE OR DELETE ON %I'
            ' DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION vitrine_move_catalogue_version()',
            menu_table
        );
    END LOOP;
END
$$;
