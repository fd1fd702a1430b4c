"""Keep warehouses: where goods are sent from, where they are delivered and to whom first."""
