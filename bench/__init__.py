"""What tapgate costs, as ratios within one run. `make bench`, or `python -m bench --quick`; docs/performance.md."""
