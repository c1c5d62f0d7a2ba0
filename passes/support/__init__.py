"""Code that passes share: patterns, grouping and outlining of calls, constants, and arrays in other layouts."""
