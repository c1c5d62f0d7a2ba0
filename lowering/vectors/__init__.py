"""Vectorization of loops, for `vectorize-loops`."""

VECTORIZED_ATTR = "relex.vectorized"
"""Attribute of a loop whose iterations become the lanes of vectors."""
