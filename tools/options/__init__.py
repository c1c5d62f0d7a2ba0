"""What several tools read from their command lines: pass pipelines, plugins, sizes of models, what to trace."""
