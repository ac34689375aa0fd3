"""What tapgate writes into other programs' settings: rendered here, purely."""
