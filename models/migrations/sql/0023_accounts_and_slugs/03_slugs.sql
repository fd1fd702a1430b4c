-- The part of a URL that identifies a category, page or vendor in its store: from its name, as `slugify` of kernel/text.py does.
CREATE FUNCTION vitrine_slug(name text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN (
        SELECT CASE
            WHEN char_length(s.slug) <= 120 THEN s.slug
            WHEN left(s.slug, 121) LIKE '%-%' THEN regexp_replace(left(s.slug, 121), '-[^-]*$', '')
            ELSE left(s.slug, 120)
        END
        FROM (SELECT btrim(regexp_replace(vitrine_fold(name), '[^a-z0-9]+', '-', 'g'), '-') AS slug) s
    );

-- The first of base, base-2, …, base-11, then base with random letters, that no other row of the store has. Deleted rows free theirs.
CREATE FUNCTION vitrine_free_slug(store_table text, store bigint, row_id bigint, base text) RETURNS text
    LANGUAGE plpgsql VOLATILE AS $function$
DECLARE
    candidate text := base;
    taken boolean;
BEGIN
    FOR attempt IN 2..100 LOOP
        EXECUTE format(
            'SELECT EXISTS (SELECT FROM %I WHERE tenant_id = $1 AND slug = $2 AND deleted_at IS NULL AND id IS DISTINCT FROM $3)', store_table
        ) INTO taken USING store, candidate, row_id;
        EXIT WHEN NOT taken;
        candidate := left(base, 110) || '-' || CASE WHEN attempt <= 11 THEN attempt::text ELSE substr(md5(random()::text), 1, 8) END;
    END LOOP;
    RETURN candidate;
END
$function$;

-- Before a row is inserted or its slug set: an empty slug is made from the name, or is the argument; a taken one gets a suffix.
-- A trigger, because earlier versions insert rows without a slug. The lock keeps concurrent rows of a store from choosing the same one.
CREATE FUNCTION vitrine_set_slug() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('slugs:' || TG_TABLE_NAME || ':' || NEW.tenant_id, 0));
    NEW.slug := vitrine_free_slug(
        TG_TABLE_NAME, NEW.tenant_id, NEW.id, coalesce(nullif(NEW.slug, ''), nullif(vitrine_slug(NEW.name), ''), TG_ARGV[0])
    );
    RETURN NEW;
END
$function$;
REVOKE EXECUTE ON FUNCTION vitrine_set_slug() FROM PUBLIC;

DO $do$
DECLARE
    store_table text;
    noun text;
    existing record;
BEGIN
    FOR store_table, noun IN VALUES ('categories', 'category'), ('pages', 'page'), ('vendors', 'vendor') LOOP
        EXECUTE format('ALTER TABLE %I ADD COLUMN slug text', store_table);
        EXECUTE format(
            'CREATE UNIQUE INDEX %I ON %I (tenant_id, slug) WHERE deleted_at IS NULL', store_table || '_slug_key', store_table
        );
        -- The owner reads all stores' rows here, while nobody else can read the table. Older rows get the shorter slugs.
        EXECUTE format('ALTER TABLE %I NO FORCE ROW LEVEL SECURITY', store_table);
        FOR existing IN EXECUTE format(
            'SELECT tenant_id, id, coalesce(nullif(vitrine_slug(name), ''''), %L) AS base FROM %I ORDER BY tenant_id, id', noun, store_table
        ) LOOP
            EXECUTE format('UPDATE %I SET slug = $3 WHERE tenant_id = $1 AND id = $2', store_table) USING existing.tenant_id, existing.id,
                vitrine_free_slug(store_table, existing.tenant_id, existing.id, existing.base);
        END LOOP;
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', store_table);
        EXECUTE format('ALTER TABLE %I ALTER COLUMN slug SET NOT NULL', store_table);
        EXECUTE format(
            'ALTER TABLE %I ADD CONSTRAINT %I CHECK (char_length(slug) BETWEEN 1 AND 255)', store_table, store_table || '_slug_length'
        );
        EXECUTE format(
            'CREATE TRIGGER set_slug BEFORE INSERT OR UPDATE OF slug ON %I FOR EACH ROW EXECUTE FUNCTION vitrine_set_slug(%L)',
            store_table, noun
        );
    END LOOP;
END
$do$;
