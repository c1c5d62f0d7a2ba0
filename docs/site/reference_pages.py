"""Pages made from the code: passes and primitives by their docstrings, public names, and options of the tools."""

from __future__ import annotations

import ast
import inspect
import io
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stdout, suppress
from enum import Enum
from importlib import import_module
from itertools import zip_longest
from types import ModuleType
from typing import Any

from xdsl.passes import ModulePass

from relex import lowering, passes
from relex.passes.schedule import Schedule
from relex.passes.schedule.primitive_table import PRIMITIVES
from relex.tools.campaign import relex_fuzz
from relex.tools.learn import relex_learn
from relex.tools.opt import relex_opt
from relex.tools.opt.pass_help import GROUPS, option_rows, package_of
from relex.tools.run import relex_run
from relex.tools.tuning import relex_tune

PASSES: Mapping[str, Callable[[], type[ModulePass]]] = {**passes.PASSES, **lowering.PASSES}

PASS_PAGES = dict(zip(("graph-passes", "loop-passes", "lowerings", "llvm-lowerings"), GROUPS.items(), strict=True))
"""The package whose passes each page shows, and its title."""

API = (
    "relex",
    "relex.runtime",
    "relex.dialects",
    "relex.frontend",
    "relex.frontend.onnx",
    "relex.frontend.torch",
    "relex.frontend.script",
    "relex.passes",
    "relex.passes.analysis",
    "relex.passes.schedule",
    "relex.passes.rewriting",
    "relex.lowering",
    "relex.lowering.te",
    "relex.lowering.legalizations",
    "relex.lowering.conversion",
    "relex.reference",
    "relex.tools",
    "relex.examples",
)
"""The packages whose public names are listed."""

COMMANDS: Mapping[str, Callable[[list[str]], int]] = {
    "relex-opt": relex_opt.main,
    "relex-run": relex_run.main,
    "relex-tune": relex_tune.main,
    "relex-fuzz": relex_fuzz.main,
    "relex-learn": relex_learn.main,
}

ARGUMENTS = {"ForOp": "Loop", "BlockOp": "Block", "AffineMap": "IndexMap"}
"""The types of arguments of a schedule's methods, by the types of the function of a primitive."""

QUALIFIER = re.compile(r"\b(\w+\.)+(?=\w)")

WIDTH = 100


class _Plain(str):
    """An annotation as it is written in the source: signatures show it without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def write_reference() -> dict[str, str]:
    """Return the pages by their names."""
    pages = {name: passes_page(*of) for name, of in PASS_PAGES.items()}
    return {**pages, "primitives": primitives_page(), "commands": commands_page(), **python_pages()}


def passes_page(package: str, title: str) -> str:
    of_package = {n: made for n, made in sorted(PASSES.items()) if package_of(made()) == package}
    module = "relex.lowering" if package.startswith("relex.lowering") else "relex.passes"
    introduction = (
        "`relex-opt -p NAME` runs a pass, and `relex-opt -p NAME{option=value}` one with options. In Python a pass is "
        f"a class of `{module}`: an object of it is called on a module and returns the rewritten one."
    )
    return joined(
        f"# {title[0].upper()}{title[1:]}", introduction, *(_pass(name, made()) for name, made in of_package.items())
    )


def _pass(name: str, cls: type[ModulePass]) -> str:
    rows = ["| option | type | |", "|---|---|---|"]
    rows += [f"| `{option}` | `{_cell(kind)}` | {_cell(default)} |" for option, kind, default in option_rows(cls)]
    options = "\n".join(rows) if len(rows) > 2 else "It has no options."
    return joined(f"## {name}", f"`{cls.__name__}`", doc_of(cls), options)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def primitives_page() -> str:
    introduction = (
        "A schedule transforms the loops of a function step by step. Each primitive is a method of "
        "`relex.passes.schedule.Schedule`, whose first argument is a loop or a block, and an op of the dialect "
        "`schedule`, which `apply-schedule` carries out. One that does not apply says why, and changes nothing."
    )
    known = {op.name: (op, carry) for op, carry in PRIMITIVES.items()}
    return joined("# Schedule primitives", introduction, *(_primitive(*known[name]) for name in sorted(known)))


def _primitive(op: type[Any], carry: Callable[..., Any]) -> str:
    name = op.name.rpartition(".")[2]
    signature = signature_of(name, getattr(Schedule, name)) if hasattr(Schedule, name) else ""
    for of_carry, of_method in ARGUMENTS.items():
        signature = signature.replace(of_carry, of_method)
    return joined(f"## {name}", signature, doc_of(carry), "As an op:", doc_of(op))


def commands_page() -> str:
    helps = [joined(f"## {name}", _fenced("text", _help(main))) for name, main in COMMANDS.items()]
    introduction = "What `--help` prints. `relex-opt --help-pass NAME` prints the documentation of a pass."
    return joined("# Command lines", introduction, *helps)


def _help(main: Callable[[list[str]], int]) -> str:
    printed = io.StringIO()
    with redirect_stdout(printed), suppress(SystemExit):
        main(["--help"])
    return printed.getvalue()


def python_pages() -> dict[str, str]:
    """Return a page for each package, and one that lists them."""
    modules = {name: import_module(name) for name in API}
    rows = [f"| [{name}]({name}.md) | {summary_of(doc_of(module))} |" for name, module in modules.items()]
    listed = "\n".join(["| package | |", "|---|---|", *rows])
    toctree = _fenced("{toctree}", "\n".join([":hidden:", *API]))
    introduction = "The public names of the packages, with their signatures. `help` shows the same."
    pages = {name: package_page(module) for name, module in modules.items()}
    return {"python": joined("# Python", introduction, listed, toctree), **pages}


def package_page(module: ModuleType) -> str:
    name = module.__name__
    listed = {made().__name__: pass_name for pass_name, made in PASSES.items()} if module in (passes, lowering) else {}
    public = public_names(module)
    rows = [f"| `{entry}` | [{listed[entry]}]({page_of(listed[entry])}) |" for entry in public if entry in listed]
    table = "\n".join(["| pass | |", "|---|---|", *rows]) if rows else ""
    return joined(f"# {name}", doc_of(module), table, *(_entry(name, n) for n in public if n not in listed))


def public_names(module: ModuleType) -> list[str]:
    """Return the names of a package, without the modules in it if it does not say what is public."""
    names = [name for name in dir(module) if not name.startswith("_")]
    return [n for n in names if hasattr(module, "__all__") or not inspect.ismodule(getattr(module, n))]


def page_of(name: str) -> str:
    """Return where a pass is described."""
    package = package_of(PASSES[name]())
    (page,) = [page for page, (of, _) in PASS_PAGES.items() if of == package]
    return f"{page}.md#{name}"


def _entry(package: str, name: str) -> str:
    try:
        value = getattr(import_module(package), name)
    except ImportError as e:
        return joined(f"## {name}", f"It needs the package `{e.name}`.")
    if isinstance(value, ModuleType):
        link = f"See [{value.__name__}]({value.__name__}.md)." if value.__name__ in API else doc_of(value)
        return joined(f"## {name}", link)
    if inspect.isclass(value):
        methods = [_function(f"### {name}.{n}", n, f) for n, f in _methods(value)]
        return joined(f"## {name}", signature_of(name, value), doc_of(value), *methods)
    if callable(value) and inspect.isroutine(value):
        return _function(f"## {name}", name, value)
    return _constant(f"## {name}", package, name)


def _methods(cls: type[Any]) -> Iterator[tuple[str, Any]]:
    """Yield the documented public methods and properties that a class defines itself."""
    for name, member in vars(cls).items():
        function = getattr(member, "__func__", member)
        shown = function.fget if isinstance(function, property) else function
        if not name.startswith("_") and inspect.isfunction(shown) and shown.__doc__:
            yield name, function


def _function(heading: str, name: str, function: Any) -> str:
    signature = "" if isinstance(function, property) else signature_of(name, function)
    return joined(heading, signature, doc_of(function))


def signature_of(name: str, value: Callable[..., Any]) -> str:
    """Return the signature as code; on several lines if it is long."""
    try:
        written = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    parameters = [
        p.replace(annotation=_plain(p.annotation), default=_default(p.default)) for p in written.parameters.values()
    ]
    shown = [p for p in parameters if p.name != "self"]
    signature = written.replace(parameters=shown, return_annotation=_plain(written.return_annotation))
    text = f"{name}{signature}"
    if len(text) > WIDTH:
        lines = "".join(f"    {part},\n" for part in _parts(signature))
        text = f"{name}(\n{lines}){str(signature).rpartition(')')[2]}"
    return _fenced("python", text)


def _parts(signature: inspect.Signature) -> Iterator[str]:
    """Yield the parameters, with the signs that say how they are passed."""
    for p in signature.parameters.values():
        if p.kind is p.KEYWORD_ONLY and all(
            o.kind not in (p.KEYWORD_ONLY, p.VAR_POSITIONAL) for o in _before(signature, p)
        ):
            yield "*"
        yield str(p)


def _before(signature: inspect.Signature, p: inspect.Parameter) -> list[inspect.Parameter]:
    parameters = list(signature.parameters.values())
    return parameters[: parameters.index(p)]


def _plain(annotation: Any) -> Any:
    if annotation is inspect.Signature.empty:
        return annotation
    return _Plain(
        annotation if isinstance(annotation, str) else QUALIFIER.sub("", inspect.formatannotation(annotation))
    )


def _default(value: Any) -> Any:
    return _Plain(f"{type(value).__name__}.{value.name}") if isinstance(value, Enum) else value


def _constant(heading: str, package: str, name: str) -> str:
    """Describe a variable by its assignment and the string after it, which Python drops."""
    assignment, after = _assignment(ast.parse(inspect.getsource(import_module(package))), name)
    code = _fenced("python", ast.unparse(assignment)) if assignment else ""
    match after:
        case ast.Expr(value=ast.Constant(value=str(doc))):
            return joined(heading, code, doc)
        case _:
            return joined(heading, code)


def _assignment(module: ast.Module, name: str) -> tuple[ast.stmt | None, ast.stmt | None]:
    """Return the statement that gives a variable its value, in a module or one that it is imported from, and the
    statement after it."""
    for statement, after in zip_longest(module.body, module.body[1:]):
        match statement:
            case ast.Assign(targets=[ast.Name(id=assigned)]) | ast.AnnAssign(target=ast.Name(id=assigned)):
                if assigned == name:
                    return statement, after
            case _:
                pass
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom) and node.module and any(alias.name == name for alias in node.names):
            return _assignment(ast.parse(inspect.getsource(import_module(node.module))), name)
    return None, None


def doc_of(value: Any) -> str:
    """Return the docstring of a class, function or module, but none that is inherited or that `dataclass` has made."""
    text = (value.__doc__ if not inspect.isclass(value) else vars(value).get("__doc__")) or ""
    return "" if text.startswith(f"{getattr(value, '__name__', '')}(") else inspect.cleandoc(text)


def summary_of(doc: str) -> str:
    sentence, end, _ = " ".join(doc.partition("\n\n")[0].split()).partition(". ")
    return sentence + end.strip()


def _fenced(language: str, text: str) -> str:
    return f"```{language}\n{text.rstrip()}\n```"


def joined(*parts: str) -> str:
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"
