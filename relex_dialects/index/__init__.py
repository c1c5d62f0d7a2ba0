"""The theory of indices: integer expressions of values and names, their bounds, and what follows from conditions."""
