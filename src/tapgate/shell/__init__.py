"""A command line as the calls that it would run."""
