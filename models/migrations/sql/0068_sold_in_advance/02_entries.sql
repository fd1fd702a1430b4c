-- What a search knows of products that are sold in advance, or not yet. Two triggers keep it: an entry is inserted with what its product
-- has, and a product that changes writes the two columns only.
ALTER TABLE search_entries
    ADD COLUMN in_advance boolean NOT NULL DEFAULT false,
    ADD COLUMN available_since timestamptz;

CREATE FUNCTION vitrine_set_entry_sale() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
    SELECT p.out_of_stock_action = 'B', p.available_since INTO NEW.in_advance, NEW.available_since
    FROM products p WHERE p.tenant_id = NEW.tenant_id AND p.id = NEW.product_id;
    RETURN NEW;
END
$function$;
CREATE TRIGGER search_entry_sale BEFORE INSERT ON search_entries FOR EACH ROW EXECUTE FUNCTION vitrine_set_entry_sale();

CREATE FUNCTION vitrine_product_sale_changed() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
    UPDATE search_entries e SET in_advance = NEW.out_of_stock_action = 'B', available_since = NEW.available_since
    WHERE e.tenant_id = NEW.tenant_id AND e.product_id = NEW.id;
    RETURN NULL;
END
$function$;
CREATE TRIGGER search_entry_sale_changed AFTER UPDATE ON products FOR EACH ROW
    WHEN ((OLD.out_of_stock_action, OLD.available_since) IS DISTINCT FROM (NEW.out_of_stock_action, NEW.available_since))
    EXECUTE FUNCTION vitrine_product_sale_changed();

-- The version of the catalogue moves when a product becomes available (models/connection/catalog_versions.py).
CREATE INDEX products_available_since_idx ON products (tenant_id, available_since) WHERE available_since IS NOT NULL AND deleted_at IS NULL;
