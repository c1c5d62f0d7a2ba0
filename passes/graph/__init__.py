"""Passes on graph functions, one per file. Their parts are in `relex.passes.rewriting`,
`relex.passes.fusion` and `relex.passes.graph.layout`."""
