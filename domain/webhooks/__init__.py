"""Webhooks of installed apps: endpoints, fan-out of events, delivery attempts with retry and backoff, signatures, and redelivery."""
