"""Import data of other marketplaces into a store."""
