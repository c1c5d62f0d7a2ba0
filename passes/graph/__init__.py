"""Passes on graph functions, one per file. Code that several of them share is in `relex.passes.support`."""
