"""Pairing and the config file."""
