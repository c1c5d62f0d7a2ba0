"""However a compiled function is called, it gives the same bits."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from relex.reference.equivalence.samples import KINDS
from relex.reference.fuzzing.structures import random_program
from relex.runtime import build, get_threads, load, set_threads
from relex.tools.campaign.calling import as_list, called, random_arguments
from relex.tools.campaign.subject import Case, Subject

if TYPE_CHECKING:
    from relex.dialects.dtypes import Array
    from relex.runtime.executable import Executable


class CallsSubject(Subject):
    """Random programs, compiled, called with arrays of other layouts, into given arrays, with other numbers of threads,
    again, and saved and loaded."""

    name = "calls"

    def make(self, random: Random) -> Case:
        return Case(random_program(random), {"seed": str(random.randrange(2**31))})

    def check(self, case: Case) -> str | None:
        executable = build(case.module, cache=False)
        rng = np.random.default_rng(int(case.options["seed"]))
        arguments = random_arguments(executable["main"].signature.inputs, rng, str(rng.choice(list(KINDS))))
        expected = _bits(called(executable["main"], arguments))
        for what, call in self._ways(executable, arguments, rng):
            if _bits(call()) != expected:
                return f"it gives other results {what}"
        return None

    def _ways(
        self, executable: Executable, arguments: Sequence[Array], rng: np.random.Generator
    ) -> list[tuple[str, Callable[[], Any]]]:
        main = executable["main"]
        before = get_threads()

        def with_threads() -> Any:
            try:
                set_threads(3 if before == 1 else 1)
                return main(*arguments)
            finally:
                set_threads(before)

        def loaded() -> Any:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "program.relex"
                executable.save(path)
                return load(path)["main"](*arguments)

        def into() -> Any:
            results = main(*arguments)
            given = [np.full_like(array, 1) for array in as_list(results)]
            if not given or main.signature.late:
                return results
            main(*arguments, out=given[0] if len(given) == 1 else given)
            return given[0] if len(given) == 1 else given

        others = [_other_layout(array, rng) for array in arguments]
        return [
            ("with arrays of other layouts", lambda: main(*others)),
            ("when it is called again", lambda: main(*arguments)),
            ("with another number of threads", with_threads),
            ("after it was saved and loaded", loaded),
            ("with out=", into),
        ]


def _other_layout(array: Array, rng: np.random.Generator) -> Array:
    """Return the same array in other memory: transposed, backwards, with gaps, at an odd address, or read-only."""
    match int(rng.integers(5)) if array.ndim else 4:
        case 0:
            return np.asfortranarray(array)
        case 1:
            return np.ascontiguousarray(array[..., ::-1])[..., ::-1]
        case 2:
            wide = np.zeros((*array.shape[:-1], array.shape[-1] * 3), array.dtype)
            wide[..., ::3] = array
            return wide[..., ::3]
        case 3:
            memory = np.zeros(array.nbytes + 1, np.uint8)
            odd = memory[1:].view(array.dtype) if array.nbytes else array.reshape(-1)
            odd = odd.reshape(array.shape)
            odd[...] = array
            return odd
        case _:
            copy = array.copy()
            copy.setflags(write=False)
            return copy


def _bits(results: Any) -> list[tuple[Any, ...]]:
    """Return the bits of results, with one NaN for all of them."""
    return [(a.dtype, a.shape, _one_nan(a).tobytes()) for a in as_list(results)]


def _one_nan(array: Array) -> Array:
    return np.where(np.isnan(array), np.array(np.nan, array.dtype), array) if array.dtype.kind == "f" else array
