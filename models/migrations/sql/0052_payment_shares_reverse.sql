-- Undo 0052_payment_shares. What gateways pay to vendors themselves is lost: their ledgers are not written by it any more.

ALTER TABLE payments DROP COLUMN shares;
