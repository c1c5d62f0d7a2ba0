"""Passes on graph functions, one per file. Their parts are in `relex.passes.support`,
`relex.passes.fusion` and `relex.passes.layouts`."""
