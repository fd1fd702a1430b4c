-- Undo 0076_zero_prices: the version before sells products of the price zero whatever their zero_price_action.
SELECT 1;
