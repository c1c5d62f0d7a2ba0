"""The command-line tools, and what relex offers to those of xDSL."""
