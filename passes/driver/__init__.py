"""Running passes: the base class, pass lists and extensions of the default pipeline, progress, crashes."""
