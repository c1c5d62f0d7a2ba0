"""Analyses of loop functions: loop tree, accesses, dependences, footprints, op patterns and work. They do not modify
the IR."""
