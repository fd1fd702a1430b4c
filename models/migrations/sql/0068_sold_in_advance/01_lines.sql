-- Whether a line was sold in advance: before the product is available, or beyond its stock, of which it then takes nothing (`tracked`).
ALTER TABLE order_lines ADD COLUMN in_advance boolean NOT NULL DEFAULT false;
