"""What several tools read from their command lines: pass pipelines, plugins, sizes of models, and what to show."""
