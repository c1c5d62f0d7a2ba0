"""The rules of the default CPU schedule, one a file; a rule that does not suit a block gives a reason."""
