"""Change the catalog: products, categories, features, options and stock."""
