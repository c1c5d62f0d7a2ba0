"""Settings that all tests in Python share: the option `--full`, what runs without it, and hypothesis."""

from __future__ import annotations

import gc
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar
from zlib import crc32

import numpy as np
import pytest
from hypothesis import HealthCheck, find, settings
from hypothesis import strategies as st

# Tests compare what tools print; tests of colors set the variables themselves.
os.environ.pop("FORCE_COLOR", None)

# Every level of whatever is compiled is verified, but for what importers make: see `verify_what_is_imported_alone`.
os.environ["RELEX_VERIFY"] = "1"

# Nothing that was compiled before a test run is found by it; its processes find what the others have compiled.
if "PYTEST_XDIST_WORKER" not in os.environ:
    _caches = TemporaryDirectory(prefix="relex-cache-")
    os.environ["XDG_CACHE_HOME"] = _caches.name

# Compiling takes as long as it takes; a slow machine is no failure. Examples are the same in every run, so that a
# change is blamed for what it breaks and for nothing else; `--hypothesis-profile=search` draws new ones.
settings.register_profile("search", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("relex", settings.get_profile("search"), derandomize=True)
settings.load_profile("relex")

FEW = 4
"""Of how many cases of a test one is run with `--few`."""

PARTS = {16: 6, 8: 4, 4: 3, 3: 2}
"""Of a test with this many cases or more, a part is run: a sixth, a quarter, a third, a half. Which cases follows from
their names alone, so that a row of a table that many tests take is in some of them."""

SLOW = Path(__file__).with_name("tests") / "slow.txt"
"""The tests that `--few` leaves out."""

IMPORTERS = ("extras/onnx/", "extras/torch/")
"""The tests of importers."""

Ids = tuple[str, ...]
"""What the parameters of a case are, one for each parametrization."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="run all cases of tests that are marked 'sampled' or 'full'")
    parser.addoption("--all-cases", action="store_true", help="run all cases of tests with many, too")
    parser.addoption("--few", action="store_true", help=f"run one in {FEW} cases of each test that is not slow")


def pytest_configure(config: pytest.Config) -> None:
    description = (
        "of all combinations of parameters, run one or more for each value; of these, every second, third, ..."
    )
    config.addinivalue_line("markers", "full: run only with --full")
    config.addinivalue_line("markers", f"sampled(diagonals=1, every=1): {description}")


def pytest_collection_finish() -> None:
    """Keep the garbage collector away from what lives until the end, and let it come less often."""
    # With its first example Hypothesis makes random numbers; it warns if nothing that is collected refers to them.
    find(st.none(), lambda _: True)
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)


T = TypeVar("T")


@pytest.fixture
def some(pytestconfig: pytest.Config) -> Callable[[Iterable[T], int], list[T]]:
    """Takes every second, third, ... of some things, or all of them with `--full`."""
    return lambda things, every: list(things)[:: 1 if pytestconfig.getoption("--full") else every]


GROUP = 8
"""How many cases of a test are compiled together."""


@pytest.fixture
def group(request: pytest.FixtureRequest) -> tuple[Any, ...]:
    """The cases of a test that are compiled together, each by its first parameter: of all that run, some neighbors."""
    cases = running(request.session, _test_of(request.node))
    first = cases.index(request.node) // GROUP * GROUP
    return tuple(next(iter(case.callspec.params.values())) for case in cases[first : first + GROUP])


@cache
def running(session: pytest.Session, test: str) -> list[pytest.Function]:
    """The cases of a test that are not left out."""
    return [item for item in session.items if isinstance(item, pytest.Function) and _test_of(item) == test]


def _test_of(item: pytest.Item) -> str:
    """The name of a test, without its parameters."""
    return item.nodeid.partition("[")[0]


@pytest.fixture(autouse=True)
def numbers_of_a_test(request: pytest.FixtureRequest) -> None:
    """What a test draws from the `RNG` of its file does not depend on the tests that ran before it."""
    module: object = getattr(request, "module", None)
    if isinstance(rng := getattr(module, "RNG", None), np.random.Generator):
        rng.bit_generator.state = np.random.default_rng(crc32(request.node.name.encode())).bit_generator.state


@pytest.fixture(autouse=True)
def verify_what_is_imported_alone(request: pytest.FixtureRequest) -> Iterator[None]:
    """What importers make is verified before it is compiled; what becomes of it is not, which takes a fifth of the time
    and tests of the core do, of each operator, pass and level. Kernels are not looked for in a cache, either."""
    if not request.node.nodeid.startswith(IMPORTERS):
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("RELEX_VERIFY", raising=False)
        patch.setenv("RELEX_CACHE", "off")
        yield


@pytest.fixture
def own_library() -> Iterator[None]:
    """Forget the library functions that a test registers."""
    from relex.runtime.library import LIBRARY

    before = dict(LIBRARY)
    yield
    LIBRARY.clear()
    LIBRARY.update(before)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the cases that are not in the samples."""
    if config.getoption("--full"):
        return
    cases: dict[tuple[str, int, int], list[tuple[pytest.Item, Ids]]] = defaultdict(list)
    for item in items:
        mark = item.get_closest_marker("sampled")
        if mark is not None and isinstance(item, pytest.Function) and hasattr(item, "callspec"):
            ids = tuple(item.callspec._idlist)  # pyright: ignore[reportPrivateUsage]
            size = mark.kwargs.get("diagonals", 1), mark.kwargs.get("every", 1)
            cases[_test_of(item), *size].append((item, ids))
    left_out = {item for item in items if item.get_closest_marker("full") is not None}
    for (_, diagonals, every), of_one_test in cases.items():
        product = [ids for _, ids in of_one_test]
        kept = {ids for shift in range(diagonals) for ids in list(diagonal(product, shift))[::every]}
        left_out |= {item for item, ids in of_one_test if ids not in kept}
    sampled = [item for item in items if item not in left_out]
    if config.getoption("--few"):
        left_out |= set(items) - set(few(sampled))
    elif not config.getoption("--all-cases") and not _are_chosen(config):
        left_out |= set(items) - set(part_of_many(sampled))
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=list(left_out))


def _are_chosen(config: pytest.Config) -> bool:
    """Return whether somebody names cases, or files and a part of their names."""
    return any("::" in argument for argument in config.args) or bool(config.getoption("keyword"))


def part_of_many(items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    """Yield some cases of tests that have many, and all of the others."""
    tests: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        tests[_test_of(item)].append(item)
    for cases in tests.values():
        parts = next((parts for count, parts in PARTS.items() if len(cases) >= count), 1)
        yield from sorted(cases, key=lambda item: crc32(item.nodeid.encode()))[: -(-len(cases) // parts)]


def few(items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    """Yield every fourth case of each test that is not slow, beginning with the first one."""
    counts, slow = Counter[str](), set(SLOW.read_text().splitlines())
    for item in items:
        test = _test_of(item)
        if counts[test] % FEW == 0 and test not in slow:
            yield item
        counts[test] += 1


def diagonal(product: Iterable[Ids], shift: int) -> Iterator[Ids]:
    """Of all combinations of some values, enough to see each value: one for each of the longest list of values. With
    another `shift`, they are others."""
    columns: list[Sequence[str]] = [list(dict.fromkeys(column)) for column in zip(*product, strict=True)]
    by_length = sorted(range(len(columns)), key=lambda column: -len(columns[column]))
    longest = len(columns[by_length[0]])
    for place in range(longest):
        found = {by_length[0]: columns[by_length[0]][place]}
        for step, column in enumerate(by_length[1:]):
            # Values of lists of equal lengths are not always met together.
            values, stride = columns[column], 2**step
            at = place // (stride if stride * len(values) <= longest else 1) + shift
            found[column] = values[at % len(values)]
        yield tuple(found[column] for column in range(len(columns)))
