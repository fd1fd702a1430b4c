-- Undo 0003_pricing. What it kept is lost.

ALTER TABLE orders DROP COLUMN coupon_code;
ALTER TABLE shipping_methods DROP COLUMN service;
DROP TABLE
    promotion_uses,
    promotions,
    order_taxes,
    payment_method_taxes,
    shipping_method_taxes,
    product_taxes,
    tax_rates,
    taxes,
    shipping_rates,
    destination_zipcodes,
    destinations;
