"""In-app notifications of users."""
