"""Passes on loop functions, one a file. What they ask stands in `relex.passes.analysis`."""
