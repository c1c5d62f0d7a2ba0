"""What the tools share on a terminal: diagnostics, colors, progress, completion, and the start of each tool."""
