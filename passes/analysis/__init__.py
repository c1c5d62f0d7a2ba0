"""What passes ask of loop functions: their loops, accesses, dependences, footprints, op patterns and work."""
