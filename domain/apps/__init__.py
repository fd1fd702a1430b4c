"""Queryable entities of installed apps and storefront keys; `auth` creates and revokes them."""
