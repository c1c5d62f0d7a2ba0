"""The lessons of the course: `relex-learn notebook 1` writes one as a notebook."""
