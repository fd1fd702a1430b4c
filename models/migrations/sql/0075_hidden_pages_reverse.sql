-- Undo 0075_hidden_pages: hidden pages are disabled, for lists would show them. Store by store: the owner sees the rows of one at a time.
DO $$
DECLARE
    store bigint;
    previous text := current_setting('vitrine.tenant', true);
BEGIN
    FOR store IN SELECT id FROM tenants ORDER BY id LOOP
        PERFORM set_config('vitrine.tenant', store::text, true);
        UPDATE pages SET status = 'D' WHERE tenant_id = store AND hidden;
    END LOOP;
    PERFORM set_config('vitrine.tenant', coalesce(previous, ''), true);
END
$$;
ALTER TABLE pages DROP COLUMN hidden;
