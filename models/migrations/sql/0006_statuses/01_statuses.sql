-- The statuses of orders and parcels as people know them: those every store has, and letters a store adds.

CREATE TABLE statuses (
    tenant_id bigint NOT NULL DEFAULT nullif(current_setting('vitrine.tenant', true), '')::bigint
        CONSTRAINT statuses_tenant_fkey REFERENCES tenants (id),
    id bigint GENERATED ALWAYS AS IDENTITY,
    public_id uuid NOT NULL,
    type text NOT NULL DEFAULT 'O' CONSTRAINT statuses_type_known CHECK (type IN ('O', 'S')),
    letter text NOT NULL CONSTRAINT statuses_letter_form CHECK (letter COLLATE "C" ~ '^[A-Z]$'),
    description text NOT NULL,
    color text NOT NULL DEFAULT '',
    -- What an order with the letter does to the stock: D holds it, I gives it back. Parcels hold none.
    inventory text CONSTRAINT statuses_inventory_known CHECK (inventory IN ('D', 'I')),
    notify boolean NOT NULL DEFAULT true,
    position integer NOT NULL DEFAULT 0,
    built_in boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    deleted_at timestamptz,
    CONSTRAINT statuses_pkey PRIMARY KEY (tenant_id, id),
    CONSTRAINT statuses_public_id_key UNIQUE (tenant_id, public_id),
    CONSTRAINT statuses_inventory_of_orders CHECK ((type = 'O') = (inventory IS NOT NULL))
);
CREATE UNIQUE INDEX statuses_letter_key ON statuses (tenant_id, type, letter) WHERE deleted_at IS NULL;
CREATE INDEX statuses_position_idx ON statuses (tenant_id, position, id) WHERE deleted_at IS NULL;
CREATE INDEX statuses_description_idx ON statuses (tenant_id, description, id) WHERE deleted_at IS NULL;
CREATE INDEX shipments_status_idx ON shipments (tenant_id, status, id);
SELECT vitrine_keep_apart('statuses');

-- The letters a store added, kept with the store so that every request has them at hand: {"O": {letter: inventory}, "S": {letter: ""}}.
ALTER TABLE tenants ADD COLUMN status_letters jsonb NOT NULL DEFAULT '{}'
    CONSTRAINT tenants_status_letters_object CHECK (jsonb_typeof(status_letters) = 'object');

-- Parcels take a store's own letters too; which they are is for the program to say, as with orders.
ALTER TABLE shipments DROP CONSTRAINT shipments_status_known;
ALTER TABLE shipments ADD CONSTRAINT shipments_status_letter CHECK (status COLLATE "C" ~ '^[A-Z]$');

-- A UUID of version 7 (RFC 9562), which PostgreSQL makes itself only from 18 on: the time in milliseconds, then chance.
CREATE FUNCTION vitrine_uuid7() RETURNS uuid
    LANGUAGE sql VOLATILE PARALLEL SAFE
    RETURN encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
        PLACING substring(int8send(floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3) FROM 1 FOR 6),
        52, 1), 53, 1), 'hex')::uuid;

-- What no store can be without. The setting is put back before the function ends, whoever calls it for whatever store; a SET clause,
-- which would do so by itself, takes a superuser for a setting that is nobody's.
CREATE FUNCTION vitrine_furnish_store(store bigint) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    SET search_path FROM CURRENT AS $function$
DECLARE
    before text := coalesce(current_setting('vitrine.tenant', true), '');
BEGIN
    PERFORM set_config('vitrine.tenant', store::text, true);
    INSERT INTO statuses (tenant_id, public_id, type, letter, description, color, inventory, position, built_in)
    SELECT store, vitrine_uuid7(), s.type, s.letter, s.description, s.color, s.inventory, s.position, true
    FROM (VALUES
        ('O', 'O', 'Aberto', '#1f7ae0', 'D', 10),
        ('O', 'P', 'Processado', '#1f9d55', 'D', 20),
        ('O', 'C', 'Concluído', '#0b6b3a', 'D', 30),
        ('O', 'B', 'Aguardando estoque', '#b7791f', 'D', 40),
        ('O', 'D', 'Recusado', '#c05621', 'I', 50),
        ('O', 'F', 'Falhou', '#c53030', 'I', 60),
        ('O', 'I', 'Cancelado', '#718096', 'I', 70),
        ('S', 'P', 'Coletado', '#1f7ae0', NULL, 10),
        ('S', 'A', 'Embalado', '#b7791f', NULL, 20),
        ('S', 'S', 'Enviado', '#0b6b3a', NULL, 30)
    ) AS s (type, letter, description, color, inventory, position)
    ON CONFLICT DO NOTHING;
    PERFORM set_config('vitrine.tenant', before, true);
END
$function$;
REVOKE EXECUTE ON FUNCTION vitrine_furnish_store(bigint) FROM PUBLIC;

CREATE FUNCTION vitrine_furnish_new_store() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $function$
BEGIN
    PERFORM vitrine_furnish_store(NEW.id);
    RETURN NULL;
END
$function$;
REVOKE EXECUTE ON FUNCTION vitrine_furnish_new_store() FROM PUBLIC;
CREATE TRIGGER tenants_furnished AFTER INSERT ON tenants FOR EACH ROW EXECUTE FUNCTION vitrine_furnish_new_store();

DO $$
DECLARE
    store bigint;
BEGIN
    FOR store IN SELECT id FROM tenants LOOP
        PERFORM vitrine_furnish_store(store);
    END LOOP;
END
$$;
