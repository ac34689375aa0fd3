"""`python -m tapgate`."""

from tapgate.cli import main

main()
