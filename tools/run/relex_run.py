"""`relex-run`: compile, load or interpret a program, run one of its functions, print or save the results."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from relex.dialects.errors import CompileError, Diagnostic
from relex.dialects.readers import is_metadata
from relex.extras import imported, parts
from relex.passes.driver.activity import doing
from relex.passes.driver.progress_line import showing_progress
from relex.tools.options.arguments import parse
from relex.tools.options.instrumentation import Timing, timed
from relex.tools.options.model_inputs import model_options
from relex.tools.options.plugins import Plugins, import_file
from relex.tools.options.tracing_options import Observing
from relex.tools.run.calls import call, write_results
from relex.tools.run.first_passes import passes_named, run_passes
from relex.tools.run.inputs import Input
from relex.tools.run.native_code import check_trusted
from relex.tools.run.run_options import make_parser
from relex.tools.shell import diagnostics

if TYPE_CHECKING:
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass

    from relex.dialects.dtypes import Array
    from relex.dialects.signature import Signature
    from relex.runtime import Executable
    from relex.tools.run.buffer_functions import Callee

SAVED = ".relex"
"""The file extension of saved executables."""


def run(args: argparse.Namespace, started: float | None = None) -> None:
    """Run the tool with parsed arguments. `started` is when the process began to import it, if it did."""
    if args.save and (args.level != "native" or args.inputs or args.output or args.profile or args.html):
        raise diagnostics.ToolError("expected --save alone: it saves the compiled program, and runs nothing")
    if args.threads and PurePath(args.save or "").suffix != ".o":
        raise diagnostics.ToolError("expected --save FILE.o with --threads, which is about object files")
    if args.emit and (args.level != "native" or args.inputs or args.profile or args.html or args.save):
        raise diagnostics.ToolError("expected --emit alone or with --output: it prints the program, and runs nothing")
    if args.checked and args.level == "native":
        raise diagnostics.ToolError("expected --level graph, loops or core with --checked: native code is not checked")
    if args.html_compare and not args.html:
        raise diagnostics.ToolError("expected --html FILE.html with --html-compare: there both reports go")
    for option in ("profile", "html", "benchmark"):
        if getattr(args, option) and args.level != "native":
            raise diagnostics.ToolError(
                f"expected --level native with --{option}: what is interpreted takes other times"
            )
    with timed(Timing(started) if args.timing else None), showing_progress(not args.no_progress):
        _run(args)


def _run(args: argparse.Namespace) -> None:
    from relex.dialects.array_files.array_files import load_arrays
    from relex.dialects.context import make_context

    plugins = _set_up(args)
    args.without_weights = None
    inputs = [read(text) for read, text in args.inputs]
    if PurePath(args.file).suffix == SAVED:
        results = _results_of_saved(args, inputs)
    else:
        context = make_context()
        plugins.add_dialects(context)
        source = diagnostics.read_source(args.file, f" or {SAVED}")
        params = load_arrays(args.params, mapped=True, stays=True) if args.params else {}
        try:
            module = _read_program(source, args, context, params)
            results = _results(module, args, inputs, source, context)
        except CompileError as e:
            raise CompileError([source.show(d) for d in e.diagnostics]) from e
    if results is not None:
        write_results(results, args.output)


def _set_up(args: argparse.Namespace) -> Plugins:
    """Execute the files that define passes and library functions, and return the former. `args` gets the passes that
    run first and those that are added to the compilation, and the target."""
    plugins = Plugins.of(args.load_passes)
    for path in args.library:
        import_file(path)
    if args.library:
        from relex.tools.run.library_errors import explain_library_errors

        explain_library_errors(dict(map(diagnostics.read_text, args.library)))
    args.first_passes = passes_named(args.first_passes, plugins) if args.first_passes else []
    args.passes = [*passes_of(plugins, are_named=bool(args.first_passes)), *tuning(args)]
    if args.precision is not None:
        from relex.lowering.relex_pipeline import passes_for

        args.passes = [*passes_for(args.precision), *args.passes]
    if args.target is not None:
        from relex.dialects.target.features import as_target

        args.target = as_target(args.target)
    return plugins


def _results_of_saved(args: argparse.Namespace, inputs: Sequence[Input]) -> Sequence[Array] | None:
    """Return the results of a function of a saved executable; None if it is only described."""
    with doing("Link"):
        loaded = load_saved(args)
    signature = loaded[args.entry].signature
    if is_asked_about(args) and signature.inputs:
        from relex.tools.run.signature_help import describe_function

        print(describe_function(signature, None))
        return None
    return call(loaded, None, args, inputs)


def _read_program(
    source: diagnostics.Source, args: argparse.Namespace, context: Context, params: Mapping[str, Array | list[Any]]
) -> ModuleOp:
    """Return the module in a file, with its parameters bound."""
    from relex.dialects.array_files.array_files import load_arrays
    from relex.passes.graph.bind_params import BindParamsPass

    with diagnostics.compile_warnings(lambda diagnostic: diagnostics.print_diagnostic(source.show(diagnostic))):
        options = model_options(args, source)
        constants = {**params, **(load_arrays(args.metadata) if args.metadata else {})}
        with doing("Parser"):
            module = diagnostics.parse_source(source, options, context=context, params=constants)
    bound = {name: a for name, a in params.items() if not (is_metadata(name) or isinstance(a, list))}
    if bound and bound.keys() == params.keys() and not args.first_passes:
        args.without_weights = module  # Compiling it with the file may find what other runs have packed.
    return BindParamsPass(args.entry, bound)(module) if bound else module


def _results(
    module: ModuleOp, args: argparse.Namespace, inputs: Sequence[Input], source: diagnostics.Source, context: Context
) -> Sequence[Array] | None:
    """Return the results of a function; None if the program is saved, printed or described instead."""
    if args.level == "native" and not args.trust_native:
        check_trusted(module)
    observing = Observing.of(args)

    def show(diagnostic: Diagnostic) -> None:
        diagnostics.print_diagnostic(source.show(diagnostic))

    if args.first_passes:
        with observing.observing(show):
            run_passes(args.first_passes, module, context, source, show)
    if args.dump_pass_pipeline:
        dump_pipeline(args)
    if args.save:
        with observing.observing(show):
            save(module, args)
        observing.report()
        return None
    if args.emit:
        from relex.tools.run.emit import emit

        file = args.output[0] if args.output else None
        emit(module, args.emit, file, target=args.target, **pipeline_options(args))
        return None
    if is_asked_about(args) and (signature := signature_in(module, args.entry)) is not None:
        from relex.tools.run.signature_help import describe_function

        print(describe_function(signature, module))
        return None
    with observing.observing(show):
        functions = prepare(module, args, inputs)
    observing.report()
    return call(functions, module, args, inputs)


def is_asked_about(args: argparse.Namespace) -> bool:
    """Return whether nothing is to be done with a function: it gets no arguments, and no option is about calls or
    passes."""
    of_calls = ("inputs", "output", "profile", "html", "benchmark")
    of_passes = ("first_passes", "load_passes", "tuned", "dump_pass_pipeline", "trace_rules", "statistics", "remarks")
    return args.random is None and not any(getattr(args, option) for option in (*of_calls, *of_passes))


def signature_in(module: ModuleOp, entry: str) -> Signature | None:
    """Return the signature of a function of tensors that has arguments, without compiling it; None if it is not one."""
    from relex.lowering.support.signatures import signatures

    found = signatures(module).get(entry)
    return found if found is not None and found.inputs and not found.writes_inputs else None


def passes_of(plugins: Plugins, *, are_named: bool) -> Sequence[ModulePass]:
    """Return the passes of loaded files that belong in the compilation. Raises `ToolError` if these only bring passes
    that do not say where, unless passes that run first are named."""
    passes = plugins.extensions()
    if plugins.passes and not passes and not plugins.has_more and not are_named:
        names = ", ".join(f"'{name}'" for name in plugins.passes)
        raise diagnostics.ToolError(
            f"expected --load-passes with a pass that runs in the compilation, found {names}: "
            "@extends_pipeline(after=...) on the class says where, and -p runs passes first"
        )
    return passes


def tuning(args: argparse.Namespace) -> Sequence[ModulePass]:
    """Return the pass for the schedules in a file, if one is given."""
    if not args.tuned:
        return []
    from relex.passes import ApplyTuningPass

    return [ApplyTuningPass(args.tuned)]


def dump_pipeline(args: argparse.Namespace) -> None:
    """Print the passes that the program is compiled or lowered by."""
    from relex.lowering.relex_pipeline import RelexPipelinePass
    from relex.tools.options.pipelines import pipeline_text

    level = "llvm" if args.level == "native" else args.level
    print(pipeline_text([RelexPipelinePass(level, **pipeline_options(args))]), file=sys.stderr)


def pipeline_options(args: argparse.Namespace) -> dict[str, Any]:
    """Return what was said about the passes of a compilation."""
    return {"strict": args.strict, "passes": args.passes, "approximate": args.approximate}


def save(module: ModuleOp, args: argparse.Namespace) -> None:
    """Save the compiled program in the format given by the file extension."""
    suffix, writers = PurePath(args.save).suffix, parts("object writers")
    if suffix in writers:
        imported(writers[suffix])(module, args.save, target=args.target, threads=args.threads, **pipeline_options(args))
    elif suffix == SAVED:
        compiled(module, args).save(args.save)
    else:
        known = " or ".join(f"*{known}" for known in (SAVED, *writers))
        raise diagnostics.ToolError(f"expected --save with a file named {known}, found '{args.save}'")


def load_saved(args: argparse.Namespace) -> Executable:
    """Load the executable in a file. Options that affect compilation are errors."""
    from relex.runtime.saving import load

    of_programs = ("params", "metadata", "shapes", "values", "first_passes", "load_passes", "tuned")
    of_compilation = ("target", "emit", "profile", "html", "save", "strict", "approximate", "precision")
    options = (*of_programs, *of_compilation, "dump_pass_pipeline")
    if found := [option.replace("_", "-") for option in options if getattr(args, option)]:
        raise diagnostics.ToolError(f"'{args.file}' is compiled already: expected it without --{found[0]}")
    if args.level != "native":
        raise diagnostics.ToolError(f"'{args.file}' is compiled already: expected it without --level {args.level}")
    return load(args.file)


def prepare(module: ModuleOp, args: argparse.Namespace, inputs: Sequence[Input]) -> Mapping[str, Callee]:
    """Return the functions of a program, lowered to the requested level."""
    from relex.tools.run.buffer_functions import MachineFunction, find_machine_function

    if args.level == "native":
        op = find_machine_function(module, args.entry)
        if op is not None:
            values = [i.value(0) for i in inputs]
            return {args.entry: MachineFunction(op, args.entry, values, module, strict=args.strict)}
        return compiled(module, args)
    from relex.lowering.relex_pipeline import RelexPipelinePass
    from relex.lowering.support.signatures import signatures
    from relex.reference.interpreter.api import interpret

    lowered = RelexPipelinePass(args.level, **pipeline_options(args))(module)
    return interpret(lowered, checked=args.checked, interface=signatures(module))


def compiled(module: ModuleOp, args: argparse.Namespace) -> Executable:
    """Compile a module with the requested options."""
    from relex.runtime.compilation import build
    from relex.runtime.weights import Weights

    # A program from the cache would be compiled without passes that can be observed.
    is_observed = args.trace_rules or args.statistics or args.remarks
    cache = False if is_observed else (True if args.cache else None)
    weights = None
    if args.without_weights is not None:
        module, weights = args.without_weights, Weights(args.params, args.entry)
    return build(module, target=args.target, cache=cache, weights=weights, **pipeline_options(args))


def main(args: Sequence[str] | None = None, started: float | None = None) -> int:
    """Run the tool on its arguments (the process's arguments by default) and return the exit code. `started` is when
    the process began to import the tool, on the clock `perf_counter`, if it did."""
    args = sys.argv[1:] if args is None else args
    return diagnostics.run_tool("relex-run", lambda: run(parse(args, make_parser()), started), debug="--debug" in args)
