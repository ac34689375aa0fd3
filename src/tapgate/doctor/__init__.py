"""What may be wrong, and what to do about it. Checks are data; everything outside comes in through the scene."""
