-- Where goods lie before they travel, where they are delivered from there, and to whom first.

CREATE TABLE warehouses (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT warehouses_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    vendor_id bigint,
    name text NOT NULL,
    -- Cut, because an index holds at most 2,700 bytes a row; nobody sorts by what comes after.
    name_folded text COLLATE "C" NOT NULL GENERATED ALWAYS AS ("left"(vitrine_fold("left"(name, 200)), 200)) STORED,
    code text NOT NULL DEFAULT '',
    description text NOT NULL DEFAULT '',
    status text NOT NULL DEFAULT 'A' CONSTRAINT warehouses_status_known CHECK (status IN ('A', 'D')),
    address text NOT NULL DEFAULT '',
    city text NOT NULL DEFAULT '',
    state text NOT NULL DEFAULT '',
    country text NOT NULL DEFAULT 'BR',
    zipcode text NOT NULL DEFAULT '',
    phone text NOT NULL DEFAULT '',
    email text NOT NULL DEFAULT '',
    latitude text NOT NULL DEFAULT '',
    longitude text NOT NULL DEFAULT '',
    priority integer NOT NULL DEFAULT 0,
    is_default boolean NOT NULL DEFAULT false,
    shipping_delay integer NOT NULL DEFAULT 0 CONSTRAINT warehouses_delay_not_negative CHECK (shipping_delay >= 0),
    min_items_in_box integer NOT NULL DEFAULT 0 CONSTRAINT warehouses_min_items_not_negative CHECK (min_items_in_box >= 0),
    max_items_in_box integer NOT NULL DEFAULT 0 CONSTRAINT warehouses_max_items_not_negative CHECK (max_items_in_box >= 0),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz,
    CONSTRAINT warehouses_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT warehouses_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT warehouses_vendor_fkey FOREIGN KEY (tenant_id, vendor_id)
        REFERENCES vendors (tenant_id, id) ON DELETE RESTRICT
);
-- One default for each vendor, and one for the store itself.
CREATE UNIQUE INDEX warehouses_default_key ON warehouses (tenant_id, coalesce(vendor_id, 0))
    WHERE is_default AND deleted_at IS NULL;
CREATE INDEX warehouses_vendor_idx ON warehouses (tenant_id, vendor_id, id);
CREATE INDEX warehouses_name_idx ON warehouses (tenant_id, name_folded, id) WHERE deleted_at IS NULL;
CREATE INDEX warehouses_priority_idx ON warehouses (tenant_id, priority, id) WHERE deleted_at IS NULL;
CREATE INDEX warehouses_created_idx ON warehouses (tenant_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX warehouses_place_idx ON warehouses (tenant_id, state, city, id) WHERE deleted_at IS NULL;
SELECT vitrine_keep_apart('warehouses');

CREATE TABLE warehouse_areas (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT warehouse_areas_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    warehouse_id bigint NOT NULL,
    name text NOT NULL DEFAULT '',
    states text[] NOT NULL DEFAULT '{}',
    cities text[] NOT NULL DEFAULT '{}',
    delivery_time integer NOT NULL DEFAULT 0
        CONSTRAINT warehouse_areas_delivery_time_not_negative CHECK (delivery_time >= 0),
    status text NOT NULL DEFAULT 'A' CONSTRAINT warehouse_areas_status_known CHECK (status IN ('A', 'D')),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT warehouse_areas_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT warehouse_areas_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT warehouse_areas_warehouse_fkey FOREIGN KEY (tenant_id, warehouse_id)
        REFERENCES warehouses (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX warehouse_areas_warehouse_idx ON warehouse_areas (tenant_id, warehouse_id, id);
SELECT vitrine_keep_apart('warehouse_areas');

CREATE TABLE warehouse_zipcodes (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT warehouse_zipcodes_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    area_id bigint NOT NULL,
    zipcode_from text NOT NULL,
    zipcode_to text NOT NULL,
    first_cep integer NOT NULL,
    last_cep integer NOT NULL,
    CONSTRAINT warehouse_zipcodes_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT warehouse_zipcodes_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT warehouse_zipcodes_in_order CHECK (first_cep <= last_cep),
    CONSTRAINT warehouse_zipcodes_area_fkey FOREIGN KEY (tenant_id, area_id)
        REFERENCES warehouse_areas (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX warehouse_zipcodes_area_idx ON warehouse_zipcodes (tenant_id, area_id, first_cep, id);
CREATE INDEX warehouse_zipcodes_range_idx ON warehouse_zipcodes (tenant_id, first_cep, last_cep, area_id);
SELECT vitrine_keep_apart('warehouse_zipcodes');

CREATE TABLE warehouse_usergroups (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT warehouse_usergroups_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    warehouse_id bigint NOT NULL,
    usergroup_id bigint NOT NULL,
    priority integer NOT NULL DEFAULT 0,
    allocation_type text NOT NULL DEFAULT 'P'
        CONSTRAINT warehouse_usergroups_allocation_known CHECK (allocation_type IN ('P', 'E')),
    status text NOT NULL DEFAULT 'A' CONSTRAINT warehouse_usergroups_status_known CHECK (status IN ('A', 'D')),
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT warehouse_usergroups_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT warehouse_usergroups_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT warehouse_usergroups_group_key UNIQUE (tenant_id, warehouse_id, usergroup_id),
    CONSTRAINT warehouse_usergroups_warehouse_fkey FOREIGN KEY (tenant_id, warehouse_id)
        REFERENCES warehouses (tenant_id, id) ON DELETE CASCADE,
    CONSTRAINT warehouse_usergroups_usergroup_fkey FOREIGN KEY (tenant_id, usergroup_id)
        REFERENCES usergroups (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX warehouse_usergroups_usergroup_idx ON warehouse_usergroups (tenant_id, usergroup_id);
SELECT vitrine_keep_apart('warehouse_usergroups');
