-- What an imported record refers to in its source and was not here when it was written: a list of `[table, number]`, null for none. The next
-- import repairs it. A version before this one leaves the column as it is, and repairs nothing.
ALTER TABLE external_references ADD COLUMN missing jsonb;
