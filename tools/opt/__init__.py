"""relex-opt: runs passes on a program, checks and bisects them."""
