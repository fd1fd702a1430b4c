-- Undo 0024_rewards. The ledger of reward points and the generated coupons are lost; balances stay, and orders keep their discounts.

DROP TABLE issued_coupons;
ALTER TABLE promotions DROP COLUMN extended_rule, DROP COLUMN extended_gifts;
DROP TABLE point_entries;
ALTER TABLE carts DROP COLUMN points_to_use;
ALTER TABLE orders DROP COLUMN points_earned, DROP COLUMN points_spent, DROP COLUMN points_cents;
ALTER TABLE users DROP CONSTRAINT users_points_not_negative;
