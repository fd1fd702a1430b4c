ALTER TABLE products
    DROP COLUMN quantity_step, DROP COLUMN quantity_choices, DROP COLUMN low_stock_limit, DROP COLUMN available_since,
    DROP COLUMN out_of_stock_action, DROP COLUMN zero_price_action,
    DROP COLUMN unlimited_download, DROP COLUMN promo_text, DROP COLUMN ncm;
