ALTER FUNCTION vitrine_update_entry_categories(bigint, bigint[]) RESET enable_mergejoin;
ALTER FUNCTION vitrine_update_entry_categories(bigint, bigint[]) RESET enable_hashjoin;
