"""Settings that all unit tests share."""

from hypothesis import HealthCheck, settings

# Compiling takes as long as it takes; a slow machine is no failure.
settings.register_profile("relex", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("relex")
