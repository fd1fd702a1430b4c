"""Mails to users: their texts, the queue and sending."""
