"""Purchases: carts, new orders and edited orders are priced in the same steps, and new orders placed.

facts      `references` (customer, methods) and `terms` (destinations, rates, taxes, promotions), a statement each; `lines` (products)
price      `pricing`, arithmetic with `totals`, `domain.promotions`, `domain.points` and `domain.taxes`
place      `placement` decides the columns, `order_rows` inserts them in one statement; `edit` and `repricing` change an order's
"""
