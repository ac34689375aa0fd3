"""tapgate's entries in the agents' settings."""
