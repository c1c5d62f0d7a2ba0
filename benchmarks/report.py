"""Tables of results in Markdown; `python -m benchmarks.report` regenerates them from the latest measurements."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from statistics import geometric_mean
from textwrap import fill

from benchmarks.aims import AIMS
from benchmarks.contenders import CONTENDERS
from benchmarks.plots import roofline, shares_of_limits, times_of_others
from benchmarks.results import FOLDER, OURS, Comparison, Results, published, rivals
from benchmarks.rows import ROWS

README = Path(__file__).parents[1] / "README.md"
MARKED = re.compile(r"(?<=<!-- benchmarks -->\n).*?(?=<!-- end of benchmarks -->)", re.DOTALL)
"""The generated part of the README."""

README_ROWS = (
    "LeNet, batch 1",
    "squeezenet, batch 1",
    "resnet50, batch 1",
    "densenet121, batch 1",
    "BERT layer, 128 tokens",
    "GPT block, 1 tokens after 1000",
    "MLP 784-128-10, batch 1",
    "MLP 784-128-10, batch 256",
    "dense 1024x1024x1024, constant",
    "attention 512x512",
    "layer_norm 64x1024",
    "softmax 64x1000",
    "relu(x * y + y), 100000",
    "transpose 1000x1000",
    "sum, 10000000",
)
README_PICTURE = "overview.svg"
UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}

Rows = Mapping[str, Comparison]


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table whose first column is text and whose other columns are numbers."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def number(value: float | None, unit: str = "") -> str:
    """Format a number with about three digits, or a dash if it was not measured."""
    if value is None:
        return "-"
    return f"{value:.{0 if value >= 99.5 else 1 if value >= 9.95 else 2}f}{unit}"


def duration(seconds: float | None) -> str:
    """Format a time in s, ms or us."""
    if seconds is None:
        return "-"
    unit = next((unit for unit, size in UNITS.items() if seconds >= size), "us")
    return number(seconds / UNITS[unit], f" {unit}")


def percent(share: float | None) -> str:
    """Format a share as a percentage."""
    return "-" if share is None else f"{100 * share:.0f} %"


def ratio_table(rows: Rows) -> str:
    """Return a table of relex's times, and the other times as multiples."""
    titles = rivals(rows.values())

    def cells(name: str, row: Comparison) -> Iterator[str]:
        yield name
        yield duration(row.median(OURS))
        yield percent(row.share_of_limit())
        for title in titles:
            ratio = number(row.ratio(title))
            yield f"**{ratio}**" if title == row.best_rival() else ratio

    header = ["", OURS, "of the limit", *titles]
    return table(header, (list(cells(name, row)) for name, row in rows.items()))


def time_table(rows: Rows) -> str:
    """Return a table of all times with their spread."""
    titles = [OURS, *rivals(rows.values())]

    def cells(name: str, row: Comparison) -> Iterator[str]:
        limit = row.limit()
        yield name
        yield "-" if limit is None else f"{duration(limit[0])} ({limit[1]})"
        for title in titles:
            known = title in row.seconds
            yield f"{duration(row.median(title))} ±{percent(row.spread(title) / 2)}" if known else "-"

    return table(["", "limit", *titles], (list(cells(name, row)) for name, row in rows.items()))


def preparations(results: Results) -> dict[str, Comparison]:
    """Return what comes before the first result, by the titles of tables."""
    return {**{f"compile {name}": row for name, row in results.compilations.items()}, "start": results.starts}


def preparation_table(results: Results) -> str:
    """Return a table of the time before the first result, and of memory."""
    comparisons = preparations(results)
    titles = [OURS, *rivals(comparisons.values())]
    rows = (
        [title, *[duration(row.median(title)) for row in comparisons.values()], _megabytes(results, title)]
        for title in titles
    )
    return table(["", *comparisons, "peak memory"], rows)


def _megabytes(results: Results, title: str) -> str:
    return number(results.memory[title] / 1e6, " MB") if title in results.memory else "-"


def aims_table(results: Results) -> str:
    """Return a table of the goals."""

    def cells() -> Iterator[Sequence[str]]:
        for aim in AIMS:
            reached = aim.reached(results)
            wanted = f"{'at most' if aim.at_most else 'at least'} {aim.wanted:g}{aim.unit}"
            verdict = "-" if reached is None else "met" if aim.met(reached) else "missed"
            yield aim.text, wanted, number(reached, aim.unit), verdict

    return table(["", "aim", "reached", ""], cells())


def machine(results: Results) -> str:
    """Return a list of the machine's properties and the library versions."""
    versions = ", ".join(f"{package} {version}" for package, version in results.versions.items() if version is not None)
    missing = ", ".join(package for package, version in results.versions.items() if version is None)
    lines = [f"{name}: {text}" for name, text in results.machine.items()]
    lines += [
        f"threads: {results.threads}",
        *([f"measured: {results.date}"] if results.date else []),
        *([_kept_to(results)] if results.features else []),
        f"versions: {versions}",
        *([f"not installed: {missing}"] if missing else []),
    ]
    return "".join(f"* {line}\n" for line in lines)


def _kept_to(results: Results) -> str:
    free = [title for title, contender in CONTENDERS.items() if contender.cut is None]
    return f"kept to: {results.features}; left out, since nothing keeps it to that: {', '.join(free)}"


def problems(results: Results) -> str:
    """Return a list of what contenders could not do, with reasons."""
    comparisons = {**results.calls, **preparations(results)}
    lines = [f"* {title}, {name}: {note}\n" for name, row in comparisons.items() for title, note in row.notes.items()]
    return "".join(lines) or "Nothing.\n"


def page(results: Results) -> str:
    """Return all tables of a machine. benchmarks/README.md explains the numbers."""
    parts = [f"# Results: {results.name}", machine(results), "## Aims", aims_table(results)]
    parts += [
        "## Times of the others, where relex takes 1",
        "![times of the others](times.svg)",
        "![shares of the limits](limits.svg)",
        "## Where rows lie under the roof of the machine",
        "![roofline](roofline.svg)",
    ]
    known = [name for name in ROWS if name in results.calls]
    groups = {
        group: {name: results.calls[name] for name in names}
        for group, names in groupby(known, lambda name: ROWS[name].group)
    }
    for group, rows in groups.items():
        parts += [f"### {group}", ratio_table(rows)]
    parts += ["## Before the first result", preparation_table(results)]
    parts += ["## Medians, and half the distance between the quartiles"]
    for group, rows in groups.items():
        parts += [f"### {group}", time_table(rows)]
    parts += ["## Not measured", problems(results)]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def readme_part(results: Results) -> str:
    """Return the generated part of the project's README."""
    folder = FOLDER.relative_to(README.parent)
    leads = [lead for row in results.calls.values() if (lead := row.lead()) is not None]
    processor, ahead = results.machine["processor"].partition(",")[0], sum(lead >= 1 for lead in leads)
    text = f"""The time of a call on one thread of an {processor}, where relex takes 1 x: a dot on the left is faster.
        In {ahead} of all {len(leads)} rows relex is ahead of the best other library; the geometric mean is
        {geometric_mean(leads):.2f} x. To compile a model takes longer than others take to load it.
        [All results]({folder}/README.md), and [how they are measured](benchmarks/README.md)."""
    shown = fill(" ".join(text.split()), 120, break_long_words=False, break_on_hyphens=False)
    return f"![Times of other libraries as multiples of relex's]({folder}/{README_PICTURE})\n\n{shown}\n"


def readme_picture(results: Results) -> str:
    """Return the picture of the project's README, as SVG."""
    return times_of_others({name: results.calls[name] for name in README_ROWS if name in results.calls})


def write(results: Results, folder: Path) -> None:
    """Write the measurements as numbers, tables and plots."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "results.json"
    results.save(file)
    kept = Results.load(file)
    for name, text in pages(kept).items():
        (folder / name).write_text(text)


def pages(results: Results) -> dict[str, str]:
    """Return the generated files by name."""
    return {
        "README.md": page(results),
        "times.svg": times_of_others(results.calls),
        "limits.svg": shares_of_limits(results.calls),
        "roofline.svg": roofline(results.calls),
    }


def index(found: Iterable[Results]) -> str:
    """Return the page that lists all published results."""

    def cells(results: Results) -> Iterator[str]:
        leads = [lead for row in results.calls.values() if (lead := row.lead()) is not None]
        yield f"[{results.name}]({results.name}/README.md)"
        yield str(len(leads))
        for least in (1.0, 0.97):
            yield str(sum(lead >= least for lead in leads))
        yield number(geometric_mean(leads) if leads else None)
        yield results.date

    header = ["", "rows", "ahead of the best other", "or at most 3 % slower", "its time, geometric mean", "measured"]
    text = "One folder for each machine, for vectors that contenders were kept to, and for a number of threads. The "
    text += "*best other* library is another one in each row.\n\n"
    text += "[Compile times](compile_time.md), [files of packages](onnx_files.md), [models of PyTorch](torch_zoo.md), "
    text += "[some of them beside inductor](torch_inductor.md), [operators of dynamic sizes](dynamic_operators.md), "
    text += "[weights in blocks](block_weights.md), [quantized networks](quantized.md) and "
    text += "[matrix units](matrix_units.md) are measured by other programs; "
    text += "[What version 0.2 made faster](faster_in_0.2.md) was measured change by change.\n"
    return f"# Results\n\n{text}\n{table(header, map(list, map(cells, found)))}"


def with_results(readme: str, results: Results) -> str:
    """Return the project's README with the main table of the results that it shows."""
    return MARKED.sub(lambda _: readme_part(results), readme)


def shown(found: Iterable[Results]) -> Results:
    """Return the results that the project's README shows: the first on one thread, with all that the machine has."""
    return next(results for results in found if results.threads == 1 and not results.features)


def publish(results: Iterable[Results]) -> None:
    """Write results and update the list of them and the project's README."""
    for one in results:
        write(one, FOLDER / one.name)
    found = published()
    (FOLDER / "README.md").write_text(index(found))
    (FOLDER / README_PICTURE).write_text(readme_picture(shown(found)))
    README.write_text(with_results(README.read_text(), shown(found)))


def line(name: str, row: Comparison) -> str:
    """Return the progress line printed while measuring."""
    times = "  ".join(f"{title} {duration(row.median(title))}" for title in row.seconds)
    notes = "  ".join(f"{title}: {note}" for title, note in row.notes.items())
    return f"{name}: {percent(row.share_of_limit())} of the limit  {times}  {notes}".rstrip()


if __name__ == "__main__":
    publish(published())
