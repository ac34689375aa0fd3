"""The state machine of requests, and all that only it needs. No I/O, no clock, no random."""
