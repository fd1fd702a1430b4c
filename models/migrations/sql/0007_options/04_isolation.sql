-- No store sees another's options.

SELECT vitrine_keep_apart('options');
SELECT vitrine_keep_apart('option_variants');
SELECT vitrine_keep_apart('product_options');
SELECT vitrine_keep_apart('combinations');
SELECT vitrine_keep_apart('combination_choices');
SELECT vitrine_keep_apart('option_exceptions');
SELECT vitrine_keep_apart('exception_choices');
SELECT vitrine_keep_apart('attachments');
SELECT vitrine_keep_apart('required_products');
SELECT vitrine_keep_apart('product_boxes');
SELECT vitrine_keep_apart('box_descriptions');
