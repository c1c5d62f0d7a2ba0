"""Settings that all unit tests share."""

from hypothesis import settings

# Compiling takes as long as it takes; a slow machine is no failure.
settings.register_profile("relex", deadline=None)
settings.load_profile("relex")
