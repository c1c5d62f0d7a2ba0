"""The benchmark suite: `python -m benchmarks`; README.md in this folder says what it measures."""
