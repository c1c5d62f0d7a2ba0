"""What passes share besides analyses: patterns, groups of calls, outlining, constants and arrays in other orders."""
