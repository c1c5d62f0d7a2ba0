"""Passes on loop functions, one per file. The analyses that they use are in `relex.passes.analysis`."""
