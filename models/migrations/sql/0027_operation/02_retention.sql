-- Finds the bodies to delete (domain/retention.py) without reading all notifications whose bodies are gone.
CREATE INDEX gateway_notifications_body_idx ON gateway_notifications (tenant_id, created_at) WHERE processed AND body <> '';
