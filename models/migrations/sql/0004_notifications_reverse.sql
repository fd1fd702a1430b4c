-- Undo 0004_notifications.

ALTER TABLE shipments DROP COLUMN order_placed_at;
DROP TABLE notifications;
