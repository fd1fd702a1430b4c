-- Undo 0003_notifications.

ALTER TABLE shipments DROP COLUMN order_placed_at;
DROP TABLE notifications;
