"""Outgoing HTTP requests to URLs chosen by stores and apps, protected against SSRF (docs/reference/shared.md#outgoing-requests)."""
