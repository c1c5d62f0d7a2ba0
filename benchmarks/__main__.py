"""Measures relex and other libraries side by side, and writes tables and plots: `python -m benchmarks`."""

from __future__ import annotations

import argparse
import fnmatch
import sys
from datetime import date
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import report
from benchmarks.contenders import AVX2, CONTENDERS, Contender, limit_features, limit_threads
from benchmarks.machine import describe, stay_on_cores, usable_cores
from benchmarks.measure import measure_calls, measure_compilations, measure_starts
from benchmarks.results import Results
from benchmarks.rows import ROWS
from benchmarks.worker import ContenderHost, LimitHost, Worker

COMPILED_ROWS = ("MLP 784-128-10, batch 1", "MLP 784-128-10, batch 256", "LeNet, batch 1")
STARTED_ROW = "MLP 784-128-10, batch 1"


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--seconds", type=float, default=0.25, help="for each contender at each row (0.25)")
    parser.add_argument("--repeats", type=int, default=3, help="of compilations and process starts (3); 0 for none")
    parser.add_argument("--threads", type=int, default=1, help="for all contenders (1)")
    parser.add_argument("--features", choices=[AVX2], default="", help="keep the contenders to AVX2, those that can be")
    parser.add_argument("--rows", default="*", metavar="PATTERN", help="only rows with such names, like 'MLP*'")
    parser.add_argument("--contenders", nargs="+", choices=CONTENDERS, metavar="TITLE", help="only these")
    parser.add_argument("--output", type=Path, help="a folder for the tables and plots")
    parser.add_argument("--publish", action="store_true", help="write into benchmarks/results and README.md")
    options = parser.parse_args()
    if not 1 <= options.threads <= len(usable_cores()):
        parser.error(f"expected 1 to {len(usable_cores())} threads, found {options.threads}")
    if not fnmatch.filter(ROWS, options.rows):
        parser.error(f"no row has a name like '{options.rows}'")
    free = [title for title in options.contenders or () if CONTENDERS[title].cut is None]
    if options.features and free:
        parser.error(f"nothing keeps {', '.join(free)} to {options.features}")
    if options.publish and (options.rows, options.contenders) != ("*", None):
        parser.error("expected all rows and all contenders for --publish")
    return options


def measure(options: argparse.Namespace) -> Results:
    """Run the benchmarks."""
    versions = {contender.package: contender.version for contender in CONTENDERS.values()}
    results = Results(describe(), options.threads, versions, date.today().isoformat(), options.features)
    limit_threads(options.threads)
    stay_on_cores(options.threads)
    able = [title for title, contender in CONTENDERS.items() if contender.version is not None]
    if options.features:
        limit_features()
        able = [title for title in able if CONTENDERS[title].cut is not None]
    chosen = [title for title in able if title in (options.contenders or able)]
    workers = {title: Worker(partial(ContenderHost, title)) for title in chosen}
    # The limits hold for one core.
    limits = Worker(LimitHost) if options.threads == 1 else None
    rows = fnmatch.filter(ROWS, options.rows)
    for row in rows:
        is_file = bool(ROWS[row].model)
        takes = partial(Contender.takes, row=row, is_file=is_file, features=options.features)
        able = {title: worker for title, worker in workers.items() if takes(CONTENDERS[title])}
        results.calls[row] = measure_calls(row, able, None if is_file else limits, options.seconds)
        print(report.line(row, results.calls[row]), flush=True)
    if options.repeats:
        for row in (row for row in COMPILED_ROWS if row in rows):
            print(f"compiling {row}", flush=True)
            results.compilations[row] = measure_compilations(row, workers, options.repeats)
        if STARTED_ROW in rows:
            print(f"starting processes for {STARTED_ROW}", flush=True)
            with TemporaryDirectory() as folder:
                results.starts, results.memory = measure_starts(STARTED_ROW, workers, options.repeats, Path(folder))
    for worker in (*workers.values(), *([limits] if limits else [])):
        worker.close()
    return results


def main() -> int:
    """Run the suite and write the results."""
    options = arguments()
    results = measure(options)
    if options.output is not None:
        report.write(results, options.output)
    if options.publish:
        report.publish([results])
    return 0


if __name__ == "__main__":
    sys.exit(main())
