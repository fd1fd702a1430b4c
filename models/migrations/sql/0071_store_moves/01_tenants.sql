-- The state of a store that moves, or has moved, to another database (server.operations.store_move).
ALTER TABLE tenants ADD COLUMN move jsonb CONSTRAINT tenants_move_form CHECK (jsonb_typeof(move) = 'object');
-- Copies, for which workers do nothing.
CREATE INDEX tenants_resting_idx ON tenants (id) WHERE status = 'S' AND is_read_only;
