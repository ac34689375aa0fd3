"""Names what is risky about a call."""
