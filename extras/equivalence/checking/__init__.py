"""`--check-each` and `--bisect` of relex-opt."""
