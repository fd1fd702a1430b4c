-- Undo 0071_store_moves. Moves under way can't be continued.
DROP INDEX tenants_resting_idx;
ALTER TABLE tenants DROP COLUMN move;
