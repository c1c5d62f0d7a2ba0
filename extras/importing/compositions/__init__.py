"""Compositions of graph operators that importers of all formats use: windows, resampling, padding, sums of products."""
