"""Loops to vectors: what `vectorize-loops` is made of."""

VECTORIZED_ATTR = "relex.vectorized"
"""On a loop: its iterations are to run side by side."""
