"""A request as content, independent of the front."""
