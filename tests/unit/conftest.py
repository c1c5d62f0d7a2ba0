"""Settings that all unit tests share."""

import gc
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, find, settings
from hypothesis import strategies as st

# Compiling takes as long as it takes; a slow machine is no failure. Examples are the same in every run, so that a
# change is blamed for what it breaks and for nothing else; `--hypothesis-profile=search` draws new ones.
settings.register_profile("search", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("relex", settings.get_profile("search"), derandomize=True)
settings.load_profile("relex")


def pytest_collection_finish() -> None:
    """Keep the garbage collector away from what lives until the end, and let it come less often."""
    # With its first example Hypothesis makes random numbers; it warns if nothing that is collected refers to them.
    find(st.none(), lambda _: True)
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)


@pytest.fixture
def own_library() -> Iterator[None]:
    """Forget the library functions that a test registers."""
    from relex.runtime.library import LIBRARY

    before = dict(LIBRARY)
    yield
    LIBRARY.clear()
    LIBRARY.update(before)
