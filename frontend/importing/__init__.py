"""What importers of all formats share: the values of a graph, the function that it becomes, and its nodes."""
