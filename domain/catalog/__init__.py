"""Change the catalogue: products, categories, features, and the stock they are sold from."""
