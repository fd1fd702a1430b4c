-- Undo 0051_rate_sources. Sources with their parameters and the quotes of orders are lost.

ALTER TABLE orders DROP COLUMN shipping_quote;
DROP TABLE carrier_quotes;
ALTER TABLE shipping_methods DROP COLUMN rate_source, DROP COLUMN rate_params, DROP COLUMN failure_notified_at;
