-- Which changes change an entry, or add words. Statements that insert call once for all rows, so that imports stay quick; an update of a
-- product calls only where it matters: most updates are those of the stock by orders.

CREATE FUNCTION vitrine_product_changed() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
    PERFORM vitrine_update_search_entries(NEW.tenant_id, ARRAY[NEW.id]);
    RETURN NULL;
END
$function$;
CREATE TRIGGER search_entry_changed AFTER UPDATE ON products FOR EACH ROW
    WHEN (
        (OLD.name, OLD.sku, OLD.status, OLD.vendor_id, OLD.price_cents, OLD.created_at, OLD.deleted_at, OLD.tracking, OLD.min_quantity)
            IS DISTINCT FROM
        (NEW.name, NEW.sku, NEW.status, NEW.vendor_id, NEW.price_cents, NEW.created_at, NEW.deleted_at, NEW.tracking, NEW.min_quantity)
        OR (OLD.stock >= greatest(OLD.min_quantity, 1)) <> (NEW.stock >= greatest(NEW.min_quantity, 1))
    )
    EXECUTE FUNCTION vitrine_product_changed();

CREATE FUNCTION vitrine_product_texts_changed() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
    PERFORM vitrine_add_search_words(NEW.tenant_id, ARRAY[NEW.id]);
    RETURN NULL;
END
$function$;
CREATE TRIGGER search_words_changed AFTER UPDATE ON products FOR EACH ROW
    WHEN ((OLD.name, OLD.sku, OLD.short_description, OLD.description) IS DISTINCT FROM
        (NEW.name, NEW.sku, NEW.short_description, NEW.description))
    EXECUTE FUNCTION vitrine_product_texts_changed();

CREATE FUNCTION vitrine_products_inserted() RETURNS trigger LANGUAGE plpgsql AS $function$
DECLARE
    store bigint;
    ids bigint[];
BEGIN
    FOR store, ids IN SELECT tenant_id, array_agg(id ORDER BY id) FROM inserted GROUP BY tenant_id ORDER BY tenant_id LOOP
        PERFORM vitrine_update_search_entries(store, ids);
        PERFORM vitrine_add_search_words(store, ids);
    END LOOP;
    RETURN NULL;
END
$function$;
CREATE TRIGGER search_entries_inserted AFTER INSERT ON products REFERENCING NEW TABLE AS inserted
    FOR EACH STATEMENT EXECUTE FUNCTION vitrine_products_inserted();

-- Rows that belong to products: placements in categories, values of features, combinations. Of an update both old and new rows count.
CREATE FUNCTION vitrine_product_parts_changed() RETURNS trigger LANGUAGE plpgsql AS $function$
DECLARE
    store bigint;
    ids bigint[];
BEGIN
    FOR store, ids IN SELECT tenant_id, array_agg(DISTINCT product_id) FROM changed GROUP BY tenant_id ORDER BY tenant_id LOOP
        PERFORM vitrine_update_search_entries(store, ids);
    END LOOP;
    RETURN NULL;
END
$function$;

CREATE FUNCTION vitrine_feature_choices_changed() RETURNS trigger LANGUAGE plpgsql AS $function$
DECLARE
    store bigint;
    ids bigint[];
BEGIN
    FOR store, ids IN
        SELECT c.tenant_id, array_agg(DISTINCT f.product_id)
        FROM changed c JOIN feature_values f ON f.tenant_id = c.tenant_id AND f.id = c.feature_value_id
        GROUP BY c.tenant_id ORDER BY c.tenant_id
    LOOP
        PERFORM vitrine_update_search_entries(store, ids);
    END LOOP;
    RETURN NULL;
END
$function$;

CREATE FUNCTION vitrine_reviews_changed() RETURNS trigger LANGUAGE plpgsql AS $function$
DECLARE
    store bigint;
    ids bigint[];
BEGIN
    FOR store, ids IN
        SELECT c.tenant_id, array_agg(DISTINCT h.object_id)
        FROM changed c JOIN discussion_threads h ON h.tenant_id = c.tenant_id AND h.id = c.thread_id
        WHERE h.object_type = 'P'
        GROUP BY c.tenant_id ORDER BY c.tenant_id
    LOOP
        PERFORM vitrine_update_search_entries(store, ids);
    END LOOP;
    RETURN NULL;
END
$function$;

DO $$
DECLARE
    part text[];
BEGIN
    FOREACH part SLICE 1 IN ARRAY ARRAY[
        ['product_categories', 'vitrine_product_parts_changed'],
        ['feature_values', 'vitrine_product_parts_changed'],
        ['feature_value_variants', 'vitrine_feature_choices_changed'],
        ['discussion_posts', 'vitrine_reviews_changed']
    ] LOOP
        EXECUTE format('CREATE TRIGGER search_entries_inserted AFTER INSERT ON %I REFERENCING NEW TABLE AS changed'
            ' FOR EACH STATEMENT EXECUTE FUNCTION %I()', part[1], part[2]);
        EXECUTE format('CREATE TRIGGER search_entries_deleted AFTER DELETE ON %I REFERENCING OLD TABLE AS changed'
            ' FOR EACH STATEMENT EXECUTE FUNCTION %I()', part[1], part[2]);
        -- None of these rows is given to another product, so that the new rows name all products of an update.
        EXECUTE format('CREATE TRIGGER search_entries_updated AFTER UPDATE ON %I REFERENCING NEW TABLE AS changed'
            ' FOR EACH STATEMENT EXECUTE FUNCTION %I()', part[1], part[2]);
    END LOOP;
END
$$;

-- The stock of a combination decides together with that of the others. Orders change it often and seldom matter: nothing is locked unless
-- this combination itself becomes available or ceases to be.
CREATE FUNCTION vitrine_combination_changed() RETURNS trigger LANGUAGE plpgsql AS $function$
DECLARE
    needed bigint;
BEGIN
    SELECT greatest(p.min_quantity, 1) INTO needed FROM products p WHERE p.tenant_id = NEW.tenant_id AND p.id = NEW.product_id;
    IF TG_OP = 'INSERT' OR OLD.deleted_at IS DISTINCT FROM NEW.deleted_at OR (OLD.stock >= needed) <> (NEW.stock >= needed) THEN
        PERFORM vitrine_update_search_entries(NEW.tenant_id, ARRAY[NEW.product_id]);
    END IF;
    RETURN NULL;
END
$function$;
CREATE TRIGGER search_entry_inserted AFTER INSERT ON combinations FOR EACH ROW EXECUTE FUNCTION vitrine_combination_changed();
CREATE TRIGGER search_entry_updated AFTER UPDATE ON combinations FOR EACH ROW
    WHEN (OLD.stock <> NEW.stock OR OLD.deleted_at IS DISTINCT FROM NEW.deleted_at) EXECUTE FUNCTION vitrine_combination_changed();
CREATE TRIGGER search_entries_deleted AFTER DELETE ON combinations REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION vitrine_product_parts_changed();

CREATE FUNCTION vitrine_category_moved() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
    PERFORM vitrine_update_search_entries(NEW.tenant_id, ARRAY(
        SELECT k.product_id FROM product_categories k WHERE k.tenant_id = NEW.tenant_id AND k.category_id = NEW.id ORDER BY k.product_id
    ));
    RETURN NULL;
END
$function$;
CREATE TRIGGER search_entries_moved AFTER UPDATE ON categories FOR EACH ROW WHEN (OLD.id_path <> NEW.id_path)
    EXECUTE FUNCTION vitrine_category_moved();

CREATE FUNCTION vitrine_feature_filterable() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
    PERFORM vitrine_update_search_entries(NEW.tenant_id, ARRAY(
        SELECT f.product_id FROM feature_values f WHERE f.tenant_id = NEW.tenant_id AND f.feature_id = NEW.id ORDER BY f.product_id
    ));
    RETURN NULL;
END
$function$;
CREATE TRIGGER search_entries_filterable AFTER UPDATE ON features FOR EACH ROW WHEN (OLD.filterable <> NEW.filterable)
    EXECUTE FUNCTION vitrine_feature_filterable();
