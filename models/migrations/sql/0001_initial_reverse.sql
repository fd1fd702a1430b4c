-- Undo 0001_initial. Everything in the tables is lost.

DROP FUNCTION IF EXISTS search_products(tsquery), search_users(tsquery);
ALTER TABLE tenants DROP CONSTRAINT tenants_owner_fkey;
DROP TABLE
    persisted_documents,
    event_sequences,
    outbox_events,
    external_references,
    discussion_posts,
    discussion_threads,
    shipment_lines,
    shipments,
    payments,
    order_status_changes,
    order_addresses,
    order_lines,
    orders,
    shipping_methods,
    payment_methods,
    feature_values,
    feature_categories,
    feature_variants,
    features,
    product_images,
    product_categories,
    products,
    categories,
    audit_entries,
    lockouts,
    wrong_attempts,
    legacy_tokens,
    api_keys,
    refresh_tokens,
    sessions,
    usergroup_memberships,
    usergroups,
    users,
    vendors,
    job_runs,
    signin_counts,
    signing_keys,
    platform_users,
    store_hosts,
    tenants;
DROP FUNCTION vitrine_keep_apart(regclass);
DROP FUNCTION vitrine_search_vector(bigint, text);
DROP FUNCTION vitrine_words(text);
DROP FUNCTION vitrine_fold(text);
