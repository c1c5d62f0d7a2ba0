"""relex-run: compiles, runs and measures the functions of a program."""
