"""Take the payment gateway's notifications: prove, keep, apply to charges and orders (decisions section 5)."""
