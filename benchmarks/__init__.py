"""Figures of Headrace, side by side with those of other loaders on the same photographs: `python -m benchmarks`."""
