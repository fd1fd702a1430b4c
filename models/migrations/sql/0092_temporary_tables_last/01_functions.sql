-- A search path without pg_temp begins with it: a temporary table of the login that serves, with a trigger, took the place of the tables that
-- these functions write to as the owner.
SELECT set_config('search_path', current_setting('search_path') || ', pg_temp', true);
ALTER FUNCTION vitrine_furnish_store(bigint) SET search_path FROM CURRENT;
ALTER FUNCTION vitrine_furnish_new_store() SET search_path FROM CURRENT;
ALTER FUNCTION vitrine_furnish_statuses(bigint) SET search_path FROM CURRENT;
ALTER FUNCTION vitrine_move_catalogue_version() SET search_path FROM CURRENT;
ALTER FUNCTION vitrine_product_lexemes(text) SET search_path FROM CURRENT;
SELECT set_config('search_path', left(current_setting('search_path'), -length(', pg_temp')), true);
