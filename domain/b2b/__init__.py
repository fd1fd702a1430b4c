"""B2B sales: managers, payment codes, business partners, their product mix, order limits and credit scores."""
