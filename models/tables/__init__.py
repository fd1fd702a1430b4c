"""Tables of the stores as Tortoise models, one module per part of the shop."""
