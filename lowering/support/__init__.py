"""Support for several lowering passes: sizes as values, and the placement of a block's init."""
