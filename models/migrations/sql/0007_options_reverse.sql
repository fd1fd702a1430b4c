-- Undo 0007_options. Everything in its tables is lost, and what lines of orders knew of options.

ALTER TABLE order_lines DROP COLUMN combination_id, DROP COLUMN options;
DROP TABLE
    box_descriptions,
    product_boxes,
    required_products,
    attachments,
    exception_choices,
    option_exceptions,
    combination_choices,
    combinations,
    product_options,
    option_variants,
    options;
