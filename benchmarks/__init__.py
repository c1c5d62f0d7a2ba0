"""The benchmark suite, `python -m benchmarks`; README.md in this folder describes what it measures."""
