"""The rules of the default CPU schedule, one a file; a rule that does not apply to a block gives a reason."""
