"""Programs name this machine by its processor and the features that differ from it, which means the same as all of its
features."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import pytest
from own_cache import use_own_cache

from relex.dialects import parse_module
from relex.dialects.target import short_targets
from relex.dialects.target.features import default_target, features_among
from relex.dialects.target.short_targets import differing_features, full_target, kept_features, short_target
from relex.dialects.target.target_attribute import TARGET_ATTR, Target, get_target
from relex.lowering import RelexPipelinePass
from relex.lowering.llvm.code_generator.compile_ir import CompileJob, compile_source
from relex.lowering.llvm.object_code import compile_module
from relex.passes import SetTargetPass

X86 = "x86_64-unknown-linux-gnu"
HOST = Target.host()
X86_ONLY = pytest.mark.skipif(not HOST.triple.startswith("x86_64"), reason="knows the features of x86-64")

# LLVM chooses other instructions for this with popcnt, bmi, fma, avx, avx512f, f16c, movbe, cx16 and more.
CODE = """
define void @f(ptr %p, ptr %q, i64 %n) {
  %a = load <16 x float>, ptr %p, align 4
  %b = load <16 x float>, ptr %q, align 4
  %c = call <16 x float> @llvm.fma.v16f32(<16 x float> %a, <16 x float> %b, <16 x float> %a)
  %h = fptrunc <16 x float> %c to <16 x half>
  store <16 x half> %h, ptr %p
  %i = load <16 x i32>, ptr %q, align 4
  %j = mul <16 x i32> %i, %i
  %k = call <16 x i32> @llvm.ctpop.v16i32(<16 x i32> %j)
  store <16 x i32> %k, ptr %q
  %x = load i64, ptr %q
  %y = call i64 @llvm.bswap.i64(i64 %x)
  %z = call i64 @llvm.cttz.i64(i64 %y, i1 false)
  %w = shl i64 %z, %n
  %v = call i64 @llvm.ctpop.i64(i64 %w)
  store i64 %v, ptr %p
  %m = load i128, ptr %p
  %r = cmpxchg ptr %q, i128 %m, i128 %m seq_cst seq_cst
  ret void
}
declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
declare <16 x i32> @llvm.ctpop.v16i32(<16 x i32>)
declare i64 @llvm.bswap.i64(i64)
declare i64 @llvm.cttz.i64(i64, i1)
declare i64 @llvm.ctpop.i64(i64)
"""

PROGRAM = """
func.func @main(%x: tensor<20x30xf32>, %w: tensor<40x30xf32>) -> tensor<20x40xf32> {
  %0 = relex.dense %x, %w : (tensor<20x30xf32>, tensor<40x30xf32>) -> tensor<20x40xf32>
  %1 = relex.exp %0 : (tensor<20x40xf32>) -> tensor<20x40xf32>
  func.return %1 : tensor<20x40xf32>
}
"""


def machine(cpu: str, changed: Mapping[str, bool]) -> Target:
    """A machine that lists all features: the features of a processor, but for some."""
    names = [flag[1:] for flag in HOST.features.split(",")]
    known = features_among(Target(X86, cpu), names)
    has = {**{name: name in known for name in names}, **changed}
    return Target(X86, cpu, ",".join(f"{'+' if on else '-'}{name}" for name, on in sorted(has.items())))


@X86_ONLY
@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("cpu", ["nehalem", "haswell", "skylake-avx512", "znver4", "sapphirerapids", "btver2"])
def test_only_differences_are_named(cpu: str) -> None:
    assert differing_features(machine(cpu, {})) == ""
    names, random = ["fma", "f16c", "popcnt", "movbe", "pku", "avx512vnni", "gfni", "rtm", "cx16", "sahf"], Random(cpu)
    for _ in range(3):
        # A machine that hides a feature hides what needs it.
        hidden = {name: False for name in random.sample(names, 3)}
        given = machine(cpu, hidden)
        features = differing_features(given)
        assert len(features) < 200
        short = Target(X86, cpu, features)
        assert compile_source(CompileJob(CODE, short, 2)) == compile_source(CompileJob(CODE, given, 2))


@X86_ONLY
def test_processors_that_may_lack_anything() -> None:
    """What LLVM does not compare is named."""
    given = machine("x86-64", {"avx2": True, "cx16": True})
    assert {"+avx2", "+cx16", "+sahf", "+64bit"} <= {*differing_features(given).split(",")}
    short = Target(X86, "x86-64", differing_features(given))
    assert compile_source(CompileJob(CODE, short, 2)) == compile_source(CompileJob(CODE, given, 2))


def test_all_are_named_if_llvm_does_not_confirm(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(one: Target, other: Target) -> bool:
        return False

    monkeypatch.setattr("relex.dialects.target.features.is_same_machine", never)
    assert differing_features(HOST) == HOST.features


def test_programs_name_this_machine_in_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RELEX_CPU", raising=False)
    module = SetTargetPass()(parse_module(PROGRAM))
    text = str(module.attributes[TARGET_ATTR])
    assert len(text) < 500
    # In this process, and for one that reads the text, it is this machine with all of its features.
    assert get_target(module) == get_target(parse_module(str(module))) == HOST == default_target()
    for target in (HOST, Target(HOST.triple, HOST.cpu), Target(X86, "haswell", "+avx2")):
        assert full_target(short_target(target)) == target
    if HOST.triple.startswith("x86_64"):
        assert short_target(HOST) == Target(HOST.triple, HOST.cpu, differing_features(HOST))


def test_texts_with_all_features_mean_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RELEX_CPU", raising=False)
    lowered = RelexPipelinePass("loops")(parse_module(PROGRAM))
    short = short_target(HOST)
    text = str(lowered)
    assert f'features = "{short.features}"' in text
    long = text.replace(f'features = "{short.features}"', f'features = "{HOST.features}"')
    assert get_target(parse_module(long)) == HOST
    objects = [compile_module(RelexPipelinePass("llvm")(parse_module(given))) for given in (long, text)]
    assert objects[0].parts == objects[1].parts
    assert objects[0].target == objects[1].target == HOST


@X86_ONLY
def test_texts_of_other_machines_are_not_changed() -> None:
    """The features of a machine with the same processor are not the features of this one."""
    for features in ("", "-fma", "+avx512f"):
        text = f'builtin.module attributes {{relex.target = {{triple = "{HOST.triple}", cpu = "{HOST.cpu}", '
        target = get_target(parse_module(f'{text}features = "{features}"}}}} {{}}'))
        assert target == (HOST if features == short_target(HOST).features else Target(HOST.triple, HOST.cpu, features))


def test_llvm_is_asked_once(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The answer is kept in the cache; where there is none, each process asks."""
    asked: list[Target] = []

    def ask(target: Target) -> str:
        asked.append(target)
        return "+mine"

    monkeypatch.setattr(short_targets, "differing_features", ask)
    use_own_cache(tmp_path_factory.mktemp("cache"), monkeypatch)
    assert [kept_features(HOST) for _ in range(2)] == ["+mine", "+mine"]
    assert asked == [HOST]
    monkeypatch.setenv("RELEX_CACHE", "off")
    assert kept_features(HOST) == "+mine"
    assert asked == [HOST, HOST]
