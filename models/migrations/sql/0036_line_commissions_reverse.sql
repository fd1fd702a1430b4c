DROP TRIGGER keep_first_commission ON vendors;
DROP FUNCTION vitrine_keep_first_commission();
ALTER TABLE vendors DROP COLUMN first_commission, DROP COLUMN first_commission_type;
ALTER TABLE order_lines DROP COLUMN commission_cents, DROP COLUMN commission, DROP COLUMN commission_type;
