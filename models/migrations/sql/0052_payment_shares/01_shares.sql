-- What the gateway pays of the payment to each recipient itself: [[vendor or null, recipient, cents, is liable, pays fees], …]; null: it isn't
-- divided (docs/payments-pagarme.md#split).
ALTER TABLE payments ADD COLUMN shares jsonb;
