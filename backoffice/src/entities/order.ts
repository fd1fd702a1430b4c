// The order of fields that a schema doesn't say: columns of lists, filters that are always shown, the groups of the menu. What isn't named
// here follows in the order of the schema: an entity without a row has a list and a form too.
export interface Order {
  columns?: readonly string[];
  filters?: readonly string[];
  sort?: readonly [name: string, direction: "ASC" | "DESC"];
  // The groups of a form after the fields that are always shown, by the key of their name; what no group names is one more.
  groups?: readonly (readonly [name: string, fields: readonly string[]])[];
  // The lists of other entities that a record's page shows open.
  related?: readonly string[];
}

export const ORDER: Readonly<Record<string, Order>> = {
  product: {
    columns: ["main_image", "name", "sku", "price_cents", "stock", "status", "category"],
    filters: ["search", "status", "below_category_id"],
    groups: [
      ["", ["name", "price_cents", "compare_at_cents", "sku", "status", "stock", "tracking", "category_id", "category_ids", "vendor_id", "short_description", "description", "images"]],
      ["delivery", ["weight_grams", "length_mm", "width_mm", "height_mm", "shipping_freight_cents", "free_shipping", "is_edp", "unlimited_download", "gtin", "ncm", "tax_ids"]],
      ["purchase", ["min_quantity", "max_quantity", "quantity_step", "quantity_choices", "available_since", "low_stock_limit", "out_of_stock_action", "zero_price_action"]],
      ["search_engines", ["slug", "page_title", "meta_keywords", "meta_description"]],
    ],
  },
  collection: { columns: ["image", "name", "slug", "product_count", "position", "status"], filters: ["search", "status"] },
  category: { columns: ["name", "parent", "product_count", "position", "status"] },
  combination: { columns: ["product", "sku", "price_cents", "stock", "choices"] },
  order: {
    columns: ["number", "created_at", "customer", "total_cents", "payment_status", "status"],
    filters: ["search", "status", "payment_status", "created_from", "created_before"],
    groups: [["", ["customer_id", "email", "firstname", "lastname", "phone", "items", "shipping_address", "payment_method_id", "shipping_method_id", "coupon_code", "status", "notes"]]],
    related: ["payment", "shipment"],
  },
  user: {
    columns: ["name", "email", "role", "status", "points", "last_login_at"],
    filters: ["search", "status", "user_type"],
    // Without the parts of the name, which the whole one has.
    groups: [["", ["name", "email", "password", "role", "status", "phone", "cpf", "cnpj", "vendor_id", "company_name", "points", "image"]]],
    related: ["order"],
  },
  user_session: { columns: ["user", "last_used_at", "ip_address", "user_agent", "created_at"], filters: ["user_id"], sort: ["last_used_at", "DESC"] },
  vendor: { columns: ["name", "city", "state", "status", "commission", "product_count"], filters: ["search", "status"], related: ["payout"] },
  payment: { columns: ["created_at", "order", "kind", "status", "amount_cents", "gateway"] },
  shipment: { columns: ["created_at", "order", "carrier", "tracking_number", "status"] },
  promotion: { columns: ["name", "zone", "coupon_code", "from_at", "to_at", "used", "status"] },
  review: { columns: ["created_at", "product", "name", "rating", "message", "status"] },
  ledger_entry: { columns: ["created_at", "kind", "vendor", "order", "amount_cents", "available_at"] },
  payout: { columns: ["number", "created_at", "vendor", "amount_cents", "status", "paid_at"] },
  media_file: { columns: ["url", "file_name", "mime_type", "bytes", "status", "created_at"] },
  status: { columns: ["letter", "description", "type", "color", "position"] },
  setting: { columns: ["name", "value", "description", "section"] },
  audit_entry: { columns: ["at", "action", "actor_kind", "user", "subject_type", "ip_address"], filters: ["user_id", "action", "subject_type", "created_from", "created_before", "subject_id"] },
  event_delivery: { columns: ["created_at", "event", "endpoint", "state", "tries", "last_status", "next_try_at"] },
  gateway_notification: { columns: ["created_at", "event_type", "charge_id", "processed", "error_message"] },
  warehouse: { columns: ["name", "code", "city", "state", "priority", "is_default", "status"] },
};

export const MENU: Readonly<Record<string, readonly string[]>> = {
  sales: ["order", "payment", "shipment", "customer_cart", "promotion"],
  catalogue: ["product", "category", "collection", "option", "combination", "option_exception", "variation_group", "feature", "attachment", "media_file"],
  people: ["user", "usergroup", "review", "point_entry", "user_session", "subscriber", "call_request", "notification"],
  marketplace: ["vendor", "vendor_account", "ledger_entry", "payout"],
  shipping: ["shipping_method", "destination", "warehouse", "product_box"],
  content: ["page", "block", "menu", "redirect", "language", "language_variable"],
  store: ["payment_method", "tax", "status", "setting", "audit_entry"],
  integrations: ["installed_app", "storefront_key", "schema_usage", "event_endpoint", "event_delivery", "app_call", "gateway_notification", "bulk_operation"],
  b2b: ["manager", "business_partner", "payment_code", "mix_product", "manager_transaction", "order_limit"],
};
// What a vendor works with; what it only may look up is reached from there.
export const VENDOR_MENU: Readonly<Record<string, readonly string[]>> = {
  sales: ["order", "shipment"],
  catalogue: ["product", "combination"],
  marketplace: ["ledger_entry", "payout"],
};
// Records of others: edited there, or where they are listed.
export const PARTS: readonly string[] = ["box_description", "warehouse_area", "warehouse_usergroup"];
