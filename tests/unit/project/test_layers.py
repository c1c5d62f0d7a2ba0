"""The floors of the house: who may import whom, and what the tools load when they start."""

import ast
import gc
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from own_cache import use_own_cache

from relex import extras
from relex.extras import imported as imported_part
from relex.lazy import import_uncollected
from relex.lowering import PASSES as LOWERING_PASSES
from relex.passes import PASSES
from relex.passes.cpu.rule_table import RULES
from relex.runtime import build

ROOT = Path(__file__).resolve().parents[3]
FLOORS = {
    "dialects": "relex_dialects",
    "passes": "passes",
    "lowering": "lowering",
    "runtime": "runtime",
    "reference": "reference",
    "frontend": "frontend",
    "tools": "tools",
    "examples": "examples",
    "": "api",
}
"""Packages of relex and their folders, the lowest floor first; the last one is `relex` itself."""
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
EXTRAS: dict[str, str] = {
    package: folder for package, folder in SETTINGS["package-dir"].items() if folder.startswith("extras/")
}
"""Packages of extras and their folders."""
GROUND = ["extras", "lazy", "version"]
"""Modules of `relex` itself that every floor stands on."""


def imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The imports of a module with their lines, except those inside functions, which run late."""
    pending: list[ast.AST] = [tree]
    while pending:
        match node := pending.pop():
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                continue
            case ast.Import():
                yield from ((node.lineno, alias.name) for alias in node.names)
            case ast.ImportFrom(module="relex"):
                yield from ((node.lineno, f"relex.{alias.name}") for alias in node.names)
            case ast.ImportFrom():
                yield node.lineno, "." * node.level + (node.module or "")
            case _:
                pending.extend(ast.iter_child_nodes(node))


def _files(floor: str) -> list[Path]:
    # Example programs are programs of users.
    return sorted((ROOT / FLOORS[floor]).glob("__init__.py" if floor == "examples" else "**/*.py"))


@pytest.mark.parametrize("floor", FLOORS)
def test_lower_floors_do_not_import_upper_ones(floor: str):
    order = list(FLOORS)
    wrong: list[str] = []
    for file in _files(floor):
        for line, name in imports(ast.parse(file.read_text())):
            package, _, rest = name.partition(".")
            imported = rest.partition(".")[0]
            if package != "relex" or imported in GROUND:
                continue
            if order.index(imported if imported in FLOORS else "") > order.index(floor):
                wrong.append(f"{file.relative_to(ROOT)}:{line} imports {name}")
    assert wrong == []


def _extra_of(name: str) -> str | None:
    """Return the package of an extra that a module, or a name in one, belongs to."""
    return next(
        (package for package in EXTRAS if name == package or name.startswith((f"{package}.", f"{package}:"))), None
    )


def names_of_modules(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The modules that any part of a module imports or names: also functions, and what only type checkers see."""
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                yield from ((node.lineno, alias.name) for alias in node.names)
            case ast.ImportFrom():
                yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)
            case ast.Constant(value=str(text)) if re.fullmatch(r"relex(\.\w+)+(:\w+)?", text):
                yield node.lineno, text
            case _:
                pass


NAMING_EXTRAS = {
    "api/extras.py": "the list of what extras add to the core",
    "frontend/__init__.py": "documented name: tvm",
    "reference/__init__.py": "documented names: check_equivalent, check_pass, fuzz_pass, and their errors",
    "runtime/__init__.py": "documented name: build_object",
}
"""Files of the core that name extras, and why."""


def test_the_core_does_not_import_extras():
    found: dict[str, list[str]] = {}
    for file in (file for floor in FLOORS for file in _files(floor)):
        for line, name in names_of_modules(ast.parse(file.read_text())):
            if (extra := _extra_of(name)) is not None:
                found.setdefault(str(file.relative_to(ROOT)), []).append(f"line {line}: {extra}")
    assert {file: names for file, names in found.items() if file not in NAMING_EXTRAS} == {}
    # Those that have become needless.
    assert NAMING_EXTRAS.keys() - found.keys() == set()


def test_parts_of_extras_exist():
    paths = [path for extra in extras.EXTRAS.values() for kind in extra.values() for path in kind.values()]
    assert len(paths) > 15
    assert all(callable(imported_part(path)) for path in paths)


def test_every_extra_is_a_folder_with_its_tests():
    folders = {ROOT / "extras" / folder.split("/")[1] for folder in EXTRAS.values()}
    assert folders == {folder for folder in (ROOT / "extras").iterdir() if folder.name != "__pycache__"}
    for folder in folders:
        assert len((folder / "README.md").read_text().splitlines()) <= 15, folder
        assert list(folder.glob("tests/test_*.py")), folder
    assert extras.EXTRAS.keys() <= {folder.name for folder in folders}


@pytest.mark.parametrize("module", GROUND)
def test_the_ground_stands_on_nothing(module: str):
    tree = ast.parse((ROOT / FLOORS[""] / f"{module}.py").read_text())
    assert [name for _, name in imports(tree) if name.startswith("relex")] == []


@pytest.mark.parametrize("floor", [*FLOORS, *EXTRAS])
def test_imports_are_absolute(floor: str):
    files = sorted((ROOT / EXTRAS[floor]).rglob("*.py")) if floor in EXTRAS else _files(floor)
    relative = [
        f"{file.relative_to(ROOT)}:{line}"
        for file in files
        for line, name in imports(ast.parse(file.read_text()))
        if name.startswith(".")
    ]
    assert relative == []


def test_slow_tests_exist():
    """The list of what `make test-core` leaves out."""
    for test in (ROOT / "tests" / "slow.txt").read_text().splitlines()[1:]:
        file, _, name = test.rpartition("::")
        assert re.search(rf"^ *def {name}\(", (ROOT / file.partition("::")[0]).read_text(), re.MULTILINE), test


WRITES = {
    "add_op", "add_ops", "clone", "detach", "erase", "erase_arg", "erase_op", "insert_arg", "insert_op",
    "insert_op_after", "insert_op_before", "insert_ops_after", "insert_ops_before", "move_blocks",
    "remove_argument_attr", "replace_all_uses_with", "replace_op", "replace_uses_with_if", "set_argument_attr",
}  # fmt: skip
"""Functions and methods that change IR."""
READS_FROM = ("relex.dialects", "relex.lazy", "relex.passes.analysis")


def test_analyses_only_read():
    wrong: list[str] = []
    for file in sorted((ROOT / "passes" / "analysis").glob("*.py")):
        tree = ast.parse(file.read_text())
        for line, name in imports(tree):
            if name in ("xdsl.builder", "xdsl.rewriter") or (
                name.startswith("relex.") and not name.startswith(READS_FROM)
            ):
                wrong.append(f"{file.name}:{line} imports {name}")
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                if called in WRITES:
                    wrong.append(f"{file.name}:{node.lineno} calls {called}")
    assert wrong == []


ROOMS = {
    "passes/graph": "relex.passes.graph",
    "passes/loops": "relex.passes.loops",
    "lowering": "relex.lowering",
}
"""Folders in which every file is a pass."""


@pytest.mark.parametrize("folder", ROOMS)
def test_a_room_of_passes_holds_nothing_else(folder: str):
    found = {file.stem for file in (ROOT / folder).glob("*.py")} - {"__init__"}
    named = {name.replace("-", "_"): factory for name, factory in {**PASSES, **LOWERING_PASSES}.items()}
    in_room = {name for name, factory in named.items() if factory().__module__ == f"{ROOMS[folder]}.{name}"}
    assert found == in_room


def test_the_room_of_schedule_rules_holds_nothing_else():
    found = {file.stem.replace("_", "-") for file in (ROOT / "passes/cpu/rules").glob("*.py")} - {"--init--"}
    assert found == set(RULES)
    for name, rule in RULES.items():
        assert rule.__module__ == f"relex.passes.cpu.rules.{rule.__name__}", name


@pytest.mark.parametrize(
    "module",
    ["relex.tools.universe", "relex.tools.opt.relex_opt", "relex.passes", "relex.lowering.legalize_ops"],
)
def test_start_without_heavy_libraries(module: str):
    code = f"import {module}, sys; print(*sorted({{'numpy', 'llvmlite', 'cffi'}} & sys.modules.keys()))"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == ""


def imported(code: str, *arguments: str) -> set[str]:
    """Return the modules that a process has imported when it ends."""
    report = "import atexit, sys; atexit.register(lambda: print('modules:', *sys.modules, file=sys.stderr))"
    command = [sys.executable, "-c", f"{report}; {code}", *arguments]
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(process.stderr.rpartition("modules:")[2].split())


def test_an_operator_is_compiled_without_numpy(tmp_path: Path):
    """Half of the time of a command that compiles one is imports."""
    (tmp_path / "relu.mlir").write_text("""func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
      %0 = relex.relu %x : (tensor<64x64xf32>) -> tensor<64x64xf32>
      func.return %0 : tensor<64x64xf32>
    }""")
    arguments = [str(tmp_path / "relu.mlir"), "-p", "relex-pipeline", "-t", "obj", "-o", str(tmp_path / "relu.o")]
    modules = imported("from relex.tools.shell.start import relex_opt; relex_opt()", *arguments)
    assert (tmp_path / "relu.o").stat().st_size > 0
    assert "relex.lowering.llvm.convert_to_llvm" in modules
    assert "numpy" not in modules


@pytest.mark.parametrize("tool", ["relex_opt", "relex_run"])
def test_versions_are_shown_without_the_tool(tool: str):
    modules = imported(f"from relex.tools.shell.start import {tool}; {tool}()", "--version")
    assert not {"xdsl", "numpy", "llvmlite"} & modules
    assert {name for name in modules if name.startswith("relex.tools.")} == {
        "relex.tools.shell",
        "relex.tools.shell.start",
        "relex.tools.shell.version",
    }


def test_small_programs_are_read_without_what_few_runs_need(tmp_path: Path):
    """A new import at the top of a module makes every start of the tool slower."""
    file = tmp_path / "small.mlir"
    file.write_text("func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {\n  return %x : tensor<2xf32>\n}\n")
    modules = imported("from relex.tools.shell.start import relex_opt; relex_opt()", str(file))
    assert not {"numpy", "llvmlite", "pdb", "fractions", "decimal"} & modules
    own = {name for name in modules if name.startswith("relex.")}
    assert not {name for name in own if name.startswith(("relex.dialects.relex", "relex.runtime", "relex.reference"))}
    # What checks, prints or measures passes, looks the version up, or reads arrays.
    asked_for = (
        "relex.tools.opt.check_options",
        "relex.tools.opt.verify_roundtrip",
        "relex.tools.options.instrumentation",
        "relex.version",
        "relex.passes.rewriting",
        "pickle",
    )
    assert not {name for name in modules if name.startswith(asked_for)}
    assert len(own) <= 47, sorted(own)


def test_ops_are_imported_by_the_programs_that_mention_them(tmp_path: Path):
    """The classes of ops take most of the time in which a dialect is imported."""
    file = tmp_path / "small.mlir"
    add = "%y = relex.add %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>"
    file.write_text(f"func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {{ {add} return %y : tensor<2xf32> }}")
    modules = imported("from relex.tools.shell.start import relex_opt; relex_opt()", str(file))
    assert "relex.dialects.relex.elementwise" in modules
    assert not {f"relex.dialects.relex.{family}" for family in ("convolution", "pooling", "unary", "calls")} & modules
    # Nor is what runs passes.
    assert not {"relex.passes.driver.base", "relex.passes.tracing", "relex.passes.driver.extension"} & modules


def test_saved_programs_are_run_without_llvm_code_generation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What calls functions from Python is compiled by the first process that needs it."""
    file = tmp_path / "saved.relex"
    build("func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { func.return %x : tensor<2xf32> }").save(file)
    use_own_cache(tmp_path / "home", monkeypatch)
    count = "import llvmlite.binding as l; t = l.TargetMachine; emit = t.emit_object; made = []"
    count += "; t.emit_object = lambda *a: (made.append(1), emit(*a))[1]"
    run = "import sys, numpy as np; from relex.runtime import load"
    run += "; print(load(sys.argv[1])['main'](np.ones(2, np.float32)).sum(), len(made))"
    for emitted in (1, 0):
        command = [sys.executable, "-c", f"{count}; {run}", str(file)]
        process = subprocess.run(command, capture_output=True, text=True, check=True)
        assert process.stdout.split() == ["2.0", str(emitted)]


def test_executables_run_without_the_compiler():
    code = (
        "import sys, relex.runtime.executable;"
        "print(*sorted({'.'.join(m.split('.')[:2]) for m in sys.modules if m.split('.')[0] in ('xdsl', 'relex')}))"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.split() == ["relex", "relex.dialects", "relex.lazy", "relex.runtime"]


def test_saved_programs_are_run_without_what_compiles(tmp_path: Path):
    """A process that finds relex's own code in the cache needs nothing that makes code."""
    file = tmp_path / "saved.relex"
    build("func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { func.return %x : tensor<2xf32> }").save(file)
    run = "import sys, numpy as np; from relex import load; load(sys.argv[1])['main'](np.ones(2, np.float32))"
    modules = [imported(run, str(file)) for _ in range(2)][-1]
    own = {name for name in modules if name.startswith("relex.")}
    compiling = {"relex.dialects.target.code_generators", "relex.dialects.target.processors"}
    assert not {*compiling, "numpy.typing", "uuid"} & modules
    assert len(own) <= 40, sorted(own)


def test_the_garbage_collector_is_off_while_modules_are_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "collected.py").write_text("import gc\nIS_ON = gc.isenabled()\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert gc.isenabled()
    assert not import_uncollected("collected").IS_ON
    assert gc.isenabled()
    with pytest.raises(ImportError):
        import_uncollected("collected.nonsense")
    assert gc.isenabled()
    gc.disable()
    try:
        import_uncollected("collected")
        assert not gc.isenabled()
    finally:
        gc.enable()
