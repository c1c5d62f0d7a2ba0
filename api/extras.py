"""What extras add to the core. Each extra has one entry here: its parts, as `module:name`, by what they are for.

The core asks by these names, and imports a part when it is first used; this table is all that it knows of extras. Other
packages add their entries, or readers to the tables of `relex.dialects.readers`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

EXTRAS: dict[str, dict[str, dict[str, str]]] = {
    "onnx": {"binary readers": {"onnx": "relex.frontend.onnx:read_onnx"}},
    "torch": {"binary readers": {"pt2": "relex.frontend.torch:read_exported"}},
    "script": {
        "readers": {"py": "relex.frontend.script:parse_script"},
        "targets": {"script": "relex.frontend.script.printer:ScriptTarget"},
        "parts": {"print-script": "relex.frontend.script.printer:print_script"},
    },
    "equivalence": {
        "parts": {
            "check-each": "relex.tools.checking.check_each:CheckEach",
            "bisection": "relex.tools.checking.bisection:Bisection",
        }
    },
    "proof": {
        "parts": {
            "prove": "relex.reference.proof.proof:prove",
            "prove-compilation": "relex.reference.proof.building:prove_compilation",
        }
    },
    "fuzzing": {"parts": {"fuzz-pass": "relex.tools.campaign.fuzz_pass:fuzz_pass"}},
    "reports": {
        "parts": {
            "report": "relex.tools.reports.compilation:report_of",
            "report-file": "relex.tools.reports.file:ReportFile",
            "register-notebook": "relex.tools.notebook.kernels:register",
            "notebook-display": "relex.tools.notebook.kernels:notebook_display",
            "html-of-text": "relex.tools.notebook.ops:html_of_text",
            "html-of-change": "relex.tools.notebook.ops:html_of_change",
            "html-of-schedule": "relex.tools.notebook.ops:html_of_schedule",
            "html-of-signature": "relex.tools.notebook.executables:html_of_signature",
            "html-of-functions": "relex.tools.notebook.executables:html_of_functions",
            "html-of-profile": "relex.tools.notebook.profiles:html_of_profile",
        }
    },
    "c_export": {"object writers": {".o": "relex.runtime.c.export:build_object"}},
}
"""The parts of extras: for each extra, by kind and name."""


def parts(kind: str) -> dict[str, str]:
    """Return the parts of one kind that all extras have, by name."""
    return {name: path for extra in EXTRAS.values() for name, path in extra.get(kind, {}).items()}


def find_part(name: str) -> Any:
    """Return the part with a name. Raises `KeyError` if no extra has one."""
    return imported(parts("parts")[name])


def imported(path: str) -> Any:
    """Import `module:name`."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)
