-- Undo 0051_rate_sources. Sources with their parameters, the quotes of orders, labels and tracking events are lost.

DROP TABLE tracking_events;
ALTER TABLE shipments DROP COLUMN label_url;
ALTER TABLE orders DROP COLUMN shipping_quote;
DROP TABLE carrier_quotes;
ALTER TABLE shipping_methods DROP COLUMN rate_source, DROP COLUMN rate_params, DROP COLUMN failure_notified_at;
