"""The pure core: what happened goes in as events, what to do comes out as effects. No I/O, no clock, no random."""
