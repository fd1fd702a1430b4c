"""Say what a shop does and what it refuses; knows neither HTTP nor GraphQL."""
