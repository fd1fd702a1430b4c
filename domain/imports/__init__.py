"""Take over what a marketplace was elsewhere: vendors, customers, a catalogue, orders and reviews, in batches."""
