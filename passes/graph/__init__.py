"""Passes on graph functions, one a file. What several of them use stands in `relex.passes.support`."""
