"""Changes of loop functions that passes and schedule primitives share: of loops, buffers, indices, and stated sizes."""
