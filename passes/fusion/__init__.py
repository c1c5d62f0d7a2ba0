"""Groups of operators: which belong together, and the functions that hold them."""
