-- The tags of a product in its search entry, so that searches count by them and are narrowed down to them without reading `product_tags`.
-- An entry is inserted with those that its product has, and changes of tags write the column only.
ALTER TABLE search_entries ADD COLUMN tags text[] NOT NULL DEFAULT '{}';

CREATE FUNCTION vitrine_set_entry_tags() RETURNS trigger LANGUAGE plpgsql
    SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $function$
BEGIN
    NEW.tags := ARRAY(
        SELECT l.tag FROM product_tags l WHERE l.tenant_id = NEW.tenant_id AND l.product_id = NEW.product_id ORDER BY l.tag
    );
    RETURN NEW;
END
$function$;
CREATE TRIGGER search_entry_tags BEFORE INSERT ON search_entries FOR EACH ROW EXECUTE FUNCTION vitrine_set_entry_tags();

-- In slices, by plans that don't depend on statistics, as in 0033.
CREATE FUNCTION vitrine_update_entry_tags(store bigint, ids bigint[]) RETURNS void LANGUAGE plpgsql
    SET enable_seqscan = off SET enable_mergejoin = off SET enable_hashjoin = off SET plan_cache_mode = force_generic_plan AS $function$
DECLARE
    part bigint[];
BEGIN
    IF cardinality(ids) > 1000 THEN
        FOR part IN SELECT s.slice FROM vitrine_slices(ids) AS s LOOP
            PERFORM vitrine_update_entry_tags(store, part);
        END LOOP;
        RETURN;
    END IF;
    IF cardinality(ids) > 50 THEN
        DISCARD PLANS;
    END IF;
    -- Locked first: the tags are read after whatever changed the entries at the same time.
    PERFORM FROM search_entries e WHERE e.tenant_id = store AND e.product_id = ANY(ids) ORDER BY e.product_id FOR NO KEY UPDATE;
    UPDATE search_entries e SET tags = p.tags
    FROM unnest(ids) AS i (id), LATERAL (
        SELECT ARRAY(
            SELECT l.tag FROM product_tags l WHERE l.tenant_id = store AND l.product_id = i.id ORDER BY l.tag
        ) AS tags OFFSET 0
    ) AS p
    WHERE e.tenant_id = store AND e.product_id = i.id AND e.tags <> p.tags;
END
$function$;

CREATE FUNCTION vitrine_product_tags_changed() RETURNS trigger LANGUAGE plpgsql AS $function$
DECLARE
    store bigint;
    ids bigint[];
BEGIN
    FOR store, ids IN SELECT tenant_id, array_agg(DISTINCT product_id) FROM changed GROUP BY tenant_id ORDER BY tenant_id LOOP
        PERFORM vitrine_update_entry_tags(store, ids);
    END LOOP;
    RETURN NULL;
END
$function$;
CREATE TRIGGER search_entries_inserted AFTER INSERT ON product_tags REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION vitrine_product_tags_changed();
CREATE TRIGGER search_entries_deleted AFTER DELETE ON product_tags REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION vitrine_product_tags_changed();
-- No row of a tag moves to another product, so that the new rows name all products of an update.
CREATE TRIGGER search_entries_updated AFTER UPDATE ON product_tags REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION vitrine_product_tags_changed();
