"""Where values may be used, in functions of several blocks."""

from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.ir import Block, Region

from relex.dialects import CompileError, parse_module
from relex.dialects.upstream.dominance import Dominance


def errors(body: str) -> list[str]:
    """The mistakes of a function of blocks, with `%c` to branch on, as `line: message`."""
    try:
        parse_module(f"func.func @f(%c: i1) {{\n{body}\n}}")
    except CompileError as e:
        return [f"{d.line - 1}: {d.message}" for d in e.diagnostics]
    return []


DEFINE = "%x = arith.constant 1 : i32"
USE = '"test.op"(%x) : (i32) -> ()'


def reachable(region: Region, without: Block | None) -> set[Block]:
    found: set[Block] = set()
    pending = [region.blocks[0]]
    while pending:
        block = pending.pop()
        found.add(block)
        successors = block.last_op.successors if block.last_op else ()
        pending += [b for b in successors if b not in found and b is not without]
    return found


@settings(max_examples=200)
@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=9, max_size=9))
def test_random_graphs(edges: list[tuple[int, int]]):
    """A block dominates another if there is no way to that without it."""
    text = "".join(
        f"^bb{i}:\n%{i} = arith.constant 1 : i32\ncf.cond_br %c, ^bb{a}, ^bb{b}\n" for i, (a, b) in enumerate(edges, 1)
    )
    module = parse_module(f"func.func @f(%c: i1) {{\ncf.br ^bb1\n{text}}}", verify=False)
    dominance = Dominance(module)
    (function,) = module.ops
    (region,) = function.regions
    _, *blocks = region.blocks
    for block in blocks:
        (value,) = next(iter(block.ops)).results
        left = reachable(region, without=block)
        for other in region.blocks:
            if other is not block:
                terminator = other.last_op
                assert terminator is not None
                assert dominance.is_visible(value, terminator) == (other not in left), (edges, block, other)


def test_many_blocks():
    chain = "".join(f"cf.cond_br %c, ^a{i}, ^end\n^a{i}:\n{USE}\n" for i in range(1500))
    assert errors(f"{DEFINE}\n{chain}cf.br ^end\n^end:\n{USE}\nfunc.return") == []
