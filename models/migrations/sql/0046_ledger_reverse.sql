-- Undo 0046_ledger. Entries, payouts and recipients are lost; applying it again writes the entries of all orders, but no payout or adjustment.
DROP TRIGGER ledger_updated ON orders;
DROP TRIGGER ledger_inserted ON orders;
DROP FUNCTION vitrine_queue_for_ledger();
DROP TABLE ledger_queue;
ALTER TABLE vendors DROP COLUMN recipient_id;
DROP TABLE ledger_entries;
DROP FUNCTION vitrine_keep_ledger();
DROP TABLE payouts;
