ALTER FUNCTION vitrine_furnish_store(bigint) SET search_path FROM CURRENT;
ALTER FUNCTION vitrine_furnish_new_store() SET search_path FROM CURRENT;
ALTER FUNCTION vitrine_furnish_statuses(bigint) SET search_path FROM CURRENT;
ALTER FUNCTION vitrine_move_catalogue_version() SET search_path FROM CURRENT;
ALTER FUNCTION vitrine_product_lexemes(text) SET search_path FROM CURRENT;
