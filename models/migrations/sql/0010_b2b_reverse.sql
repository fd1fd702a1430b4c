-- Undo 0010_b2b. Everything in the tables is lost.

DROP TABLE credit_checks, order_limits, manager_transactions, mix_products, business_partners, payment_codes, managers;
