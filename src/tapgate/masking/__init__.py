"""Hides secrets in what leaves the machine."""
