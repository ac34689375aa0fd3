"""tapgate: answer your coding agent from your phone."""

__version__ = "0.1.0"
