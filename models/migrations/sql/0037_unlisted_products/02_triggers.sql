-- Which changes list a product or leave it out. Those of categories and vendors first wait for transactions that refer to them: their
-- products become visible here, and their foreign keys wait until this transaction has ended.

-- Only a vendor that is not active concerns a product without categories.
CREATE FUNCTION vitrine_listing_of_inserted() RETURNS trigger LANGUAGE plpgsql AS $function$
DECLARE
    store bigint;
    ids bigint[];
BEGIN
    FOR store, ids IN
        SELECT i.tenant_id, array_agg(i.id)
        FROM inserted i JOIN vendors v ON v.tenant_id = i.tenant_id AND v.id = i.vendor_id
        WHERE v.status <> 'A' OR v.deleted_at IS NOT NULL
        GROUP BY i.tenant_id ORDER BY i.tenant_id
    LOOP
        PERFORM vitrine_update_unlisted_products(store, ids);
    END LOOP;
    RETURN NULL;
END
$function$;
-- Behind `search_entries_inserted`: the entries are locked.
CREATE TRIGGER unlisted_products_inserted AFTER INSERT ON products REFERENCING NEW TABLE AS inserted
    FOR EACH STATEMENT EXECUTE FUNCTION vitrine_listing_of_inserted();

CREATE FUNCTION vitrine_product_vendor_changed() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
    PERFORM vitrine_update_unlisted_products(NEW.tenant_id, ARRAY[NEW.id]);
    RETURN NULL;
END
$function$;
CREATE TRIGGER unlisted_products_updated AFTER UPDATE ON products FOR EACH ROW WHEN (OLD.vendor_id IS DISTINCT FROM NEW.vendor_id)
    EXECUTE FUNCTION vitrine_product_vendor_changed();

CREATE FUNCTION vitrine_placements_changed() RETURNS trigger LANGUAGE plpgsql AS $function$
DECLARE
    store bigint;
    ids bigint[];
BEGIN
    FOR store, ids IN SELECT tenant_id, array_agg(DISTINCT product_id) FROM changed GROUP BY tenant_id ORDER BY tenant_id LOOP
        PERFORM vitrine_update_unlisted_products(store, ids);
    END LOOP;
    RETURN NULL;
END
$function$;
CREATE TRIGGER unlisted_products_inserted AFTER INSERT ON product_categories REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION vitrine_placements_changed();
CREATE TRIGGER unlisted_products_deleted AFTER DELETE ON product_categories REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION vitrine_placements_changed();
CREATE TRIGGER unlisted_products_updated AFTER UPDATE ON product_categories REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION vitrine_placements_changed();

-- What lies below a category is as restricted as the category.
CREATE FUNCTION vitrine_category_listing_changed() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
    PERFORM FROM categories c WHERE c.tenant_id = NEW.tenant_id AND (c.id = NEW.id OR starts_with(c.id_path, NEW.id_path || '/'))
        ORDER BY c.id FOR UPDATE;
    PERFORM vitrine_update_unlisted_products(NEW.tenant_id, ARRAY(
        SELECT DISTINCT k.product_id FROM categories c JOIN product_categories k ON k.tenant_id = c.tenant_id AND k.category_id = c.id
        WHERE c.tenant_id = NEW.tenant_id AND (c.id = NEW.id OR starts_with(c.id_path, NEW.id_path || '/'))
    ));
    RETURN NULL;
END
$function$;
CREATE TRIGGER unlisted_products_updated AFTER UPDATE ON categories FOR EACH ROW
    WHEN (OLD.status <> NEW.status OR OLD.id_path <> NEW.id_path)
    EXECUTE FUNCTION vitrine_category_listing_changed();

CREATE FUNCTION vitrine_vendor_listing_changed() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
    PERFORM FROM vendors v WHERE v.tenant_id = NEW.tenant_id AND v.id = NEW.id FOR UPDATE;
    PERFORM vitrine_update_unlisted_products(NEW.tenant_id, ARRAY(
        SELECT p.id FROM products p WHERE p.tenant_id = NEW.tenant_id AND p.vendor_id = NEW.id
    ));
    RETURN NULL;
END
$function$;
CREATE TRIGGER unlisted_products_updated AFTER UPDATE ON vendors FOR EACH ROW
    WHEN ((OLD.status = 'A' AND OLD.deleted_at IS NULL) <> (NEW.status = 'A' AND NEW.deleted_at IS NULL))
    EXECUTE FUNCTION vitrine_vendor_listing_changed();
