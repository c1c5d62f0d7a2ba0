"""Changes of loop functions that passes and schedule primitives share: of loops, buffers and indices."""
