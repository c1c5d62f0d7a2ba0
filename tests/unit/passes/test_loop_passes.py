"""Random loop functions compute the same after `inline-blocks`, `merge-loops` and `compact-buffers`."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from relex.dialects import parse_module
from relex.dialects.tir import BlockOp, ForOp
from relex.passes import CompactBuffersPass, InlineBlocksPass, MergeLoopsPass
from relex.reference import interpret

SIZE = 3
MATRIX, ROW = f"memref<{SIZE}x{SIZE}xf32>", f"memref<{SIZE}xf32>"
MATRICES = ("%X", "%Y", "%Z", "%S", "%T")
ROWS = ("%P",)
LOOPS = ("%i, %j", "%j, %i")
PLACES = ("[%v, %w]", "[%w, %v]", "[%v, %c1]", "[%c1, %w]", "[%r, %w]", "[%v, %v]")
ROW_PLACES = ("[%v]", "[%w]", "[%c1]", "[%r]")


class LoopFunction:
    """The text of a loop function that grows nest by nest: each fills a buffer from others that are filled before."""

    def __init__(self, data: st.DataObject):
        self._draw = data.draw
        self._filled = ["%X"]
        self._nests: list[str] = []
        for _ in range(data.draw(st.integers(1, 6))):
            self._add(data.draw(st.sampled_from([*MATRICES[1:], *ROWS])))
        for output in ("%Y", "%Z"):
            if output not in self._filled:
                self._add(output)

    def _add(self, target: str) -> None:
        """A nest that fills a buffer, which may have been filled before."""
        sources = [buffer for buffer in self._filled if buffer != target]
        loads = [self._load("%a", sources[-1]), self._load("%b", self._draw(st.sampled_from(sources)))]
        place = "[%v]" if target in ROWS else self._draw(st.sampled_from(PLACES[:2]))
        kind = "reduce" if target in ROWS else "spatial"
        buffer_type = ROW if target in ROWS else MATRIX
        number = len(self._nests)
        start = f"tir.init {{ memref.store %one, {target}{place} : {buffer_type} }}" if target in ROWS else ""
        old = f"%o = memref.load {target}{place} : {buffer_type}" if target in ROWS else "%o = arith.negf %a : f32"
        self._nests.append(f"""
  tir.for {self._draw(st.sampled_from(LOOPS))} in ({SIZE}, {SIZE}) {{
    tir.block @B{number} (%v: spatial<{SIZE}> = %i, %w: {kind}<{SIZE}> = %j) {{
      {start}
      %r = arith.subi %c{SIZE - 1}, %v : index
      {loads[0]}
      {loads[1]}
      {old}
      %m = arith.mulf %a, %b : f32
      %s = arith.addf %o, %m : f32
      memref.store %s, {target}{place} : {buffer_type}
    }}
  }}""")
        self._filled.append(target)

    def _load(self, name: str, source: str) -> str:
        places = ROW_PLACES if source in ROWS else PLACES
        return (
            f"{name} = memref.load {source}{self._draw(st.sampled_from(places))} : {ROW if source in ROWS else MATRIX}"
        )

    def __str__(self) -> str:
        noalias = self._draw(st.sampled_from([" attributes {tir.noalias}", ""]))
        return "\n".join(
            [
                f"tir.prim_func @f(%X: {MATRIX}) outs(%Y: {MATRIX}, %Z: {MATRIX}){noalias} {{",
                *(f"  %c{i} = arith.constant {i} : index" for i in (1, SIZE - 1)),
                "  %one = arith.constant 1.0 : f32",
                *(f"  {name} = tir.alloc_buffer : {MATRIX}" for name in MATRICES[3:]),
                *(f"  {name} = tir.alloc_buffer : {ROW}" for name in ROWS),
                *self._nests,
                "}",
            ]
        )


@settings(max_examples=25)
@given(data=st.data())
def test_loops_compute_the_same(data: st.DataObject) -> None:
    module = parse_module(str(LoopFunction(data)))
    x = np.random.default_rng(0).standard_normal((SIZE, SIZE)).astype(np.float32)
    expected = interpret(module, checked=True)["f"](x)
    for step in (InlineBlocksPass(), MergeLoopsPass(), InlineBlocksPass(), CompactBuffersPass()):
        module = step(module)
        for found, wanted in zip(interpret(module, checked=True)["f"](x), expected, strict=True):
            assert found.tobytes() == wanted.tobytes()


def test_one_nest_is_left_of_a_chain() -> None:
    """The inlined and merged form of a chain: one nest for what was a nest for each step."""
    nest = """
  tir.for %i in (4) {{
    tir.block @B{n} (%v: spatial<4> = %i) {{
      %x = memref.load %T{n}[%v] : memref<4xf32>
      %y = arith.negf %x : f32
      memref.store %y, %T{after}[%v] : memref<4xf32>
    }}
  }}"""
    count = 50
    text = "\n".join(
        [
            f"tir.prim_func @f(%T0: memref<4xf32>) outs(%T{count}: memref<4xf32>) attributes {{tir.noalias}} {{",
            *(f"  %T{n} = tir.alloc_buffer : memref<4xf32>" for n in range(1, count)),
            *(nest.format(n=n, after=n + 1) for n in range(count)),
            "}",
        ]
    )
    for p in (InlineBlocksPass(), MergeLoopsPass()):
        module = p(parse_module(text))
        assert sum(isinstance(op, ForOp) for op in module.walk()) == 1
        assert sum(isinstance(op, BlockOp) for op in module.walk()) == (1 if isinstance(p, InlineBlocksPass) else count)
