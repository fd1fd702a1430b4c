DROP INDEX products_compare_at_idx, orders_subtotal_idx, orders_shipping_idx, orders_discount_idx, orders_payment_status_idx,
    users_last_login_idx;
