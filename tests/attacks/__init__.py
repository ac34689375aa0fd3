"""Attacks on what tapgate promises, one file a promise."""
