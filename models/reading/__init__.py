"""Reads: the shape of a response, the SQL for it, and the readers of its rows."""
