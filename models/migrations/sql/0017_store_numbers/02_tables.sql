-- The tables whose numbers clients see. Those of other tables (models.numbers) stay the installation's and are never shown.

DO $$
DECLARE
    store_table text;
BEGIN
    FOREACH store_table IN ARRAY ARRAY[
        'attachments', 'blocks', 'box_descriptions', 'business_partners', 'call_requests', 'categories', 'combinations', 'destinations',
        'discussion_posts', 'discussion_threads', 'feature_variants', 'features', 'gateway_notifications', 'languages',
        'manager_transactions', 'managers', 'mix_products', 'option_exceptions', 'option_variants', 'options', 'order_limits',
        'order_lines', 'orders', 'pages', 'payment_codes', 'payment_methods', 'product_boxes', 'product_images', 'products', 'promotions',
        'shipments', 'shipping_methods', 'statuses', 'subscribers', 'taxes', 'usergroups', 'users', 'vendors', 'warehouse_areas',
        'warehouses'
    ] LOOP
        PERFORM vitrine_number_by_store(store_table::regclass);
    END LOOP;
END
$$;

SELECT vitrine_keep_apart('number_counters');
