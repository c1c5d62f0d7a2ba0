"""Passes of others in the default compilation: the places they ask for, and the list of passes with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NoReturn, TypeVar

from xdsl.passes import ModulePass

from relex.dialects.errors import RelexError, UnknownNameError, expect_kind, wrong_kind
from relex.passes.driver.base import Level, RelexPass

PassT = TypeVar("PassT", bound=ModulePass)

Anchor = str | type[ModulePass]
"""A pass that others are placed relative to: its name, or its class."""


@dataclass(frozen=True)
class PassPlace:
    """A place in a list of passes: directly after or before the pass with a name. With both, the pass comes directly
    after the first, and must come before the second."""

    after: str | None = None
    before: str | None = None

    def __str__(self) -> str:
        return " and ".join(f"{word} '{name}'" for word, name in vars(self).items() if name is not None)


@dataclass(frozen=True)
class PlacedPass:
    """A pass with its place, made by `placed`."""

    p: ModulePass
    place: PassPlace


AnyExtension = ModulePass | PlacedPass


def extends_pipeline(
    *, after: Anchor | None = None, before: Anchor | None = None
) -> Callable[[type[PassT]], type[PassT]]:
    """
    Declare where a pass belongs in the default compilation: directly after or before another pass, given by name or
    class.

        @extends_pipeline(after="fold-constants")
        @dataclass(frozen=True)
        class HoistBiasPass(RulesPass): ...

    The pass runs there in `build(module, passes=[HoistBiasPass()])`, in `relex-run --load-passes FILE.py`, and where
    `relex-opt --load-passes FILE.py` runs `relex-pipeline`. Several passes at one place run in the order in which they
    are given. The other pass may be one that extends the compilation too.
    """
    place = _place(after, before)

    def declare(cls: type[PassT]) -> type[PassT]:
        if not _is_class_of_pass(cls):
            raise wrong_kind("the class of a pass", cls, "extends_pipeline")
        setattr(cls, _PLACE, place)
        return cls

    return declare


def placed(p: ModulePass, *, after: Anchor | None = None, before: Anchor | None = None) -> PlacedPass:
    """Return a pass with its place in the default compilation, for `build(module, passes=[...])`: for passes that do
    not declare one by `extends_pipeline`, such as xDSL's, or to put one elsewhere."""
    expect_kind(p, ModulePass, "a pass", "placed")
    return PlacedPass(p, _place(after, before))


_PLACE = "place_in_pipeline"


def declared_place(p: ModulePass | type[ModulePass]) -> PassPlace | None:
    """Return the place that the class of a pass declares by `extends_pipeline`, if any."""
    return getattr(p, _PLACE, None)


def _place(after: Anchor | None, before: Anchor | None) -> PassPlace:
    if after is None and before is None:
        raise RelexError("expected the name of a pass, after=... or before=..., found neither")
    return PassPlace(_name(after), _name(before))


def _name(anchor: Anchor | None) -> str | None:
    if anchor is None or isinstance(anchor, str):
        return anchor
    if not _is_class_of_pass(anchor):
        raise wrong_kind("the name or the class of a pass", anchor)
    return anchor.name


def _is_class_of_pass(thing: object) -> bool:
    return isinstance(thing, type) and issubclass(thing, ModulePass)


@dataclass(frozen=True)
class _Step:
    """A pass in the list, the level that it leads to, and the pass that it was put after."""

    p: ModulePass
    level: Level
    after: str | None = None


def extend(
    levels: Sequence[tuple[Level, Sequence[ModulePass]]], passes: Iterable[AnyExtension]
) -> list[tuple[Level, list[ModulePass]]]:
    """
    Return passes, grouped by the level they produce, with others at the places these ask for.

    Raises `UnknownNameError` for a place relative to a pass that is not there, and `RelexError` for a pass without a
    place, places that depend on each other, and a pass that does not work on the level at its place.
    """
    steps = [_Step(p, level) for level, group in levels for p in group]
    pending = [_with_place(p) for p in passes]
    while pending:
        known = {step.p.name for step in steps}
        ready = [new for new in pending if {new.place.after, new.place.before} <= {*known, None}]
        if not ready:
            _explain(pending, known)
        for new in ready:
            _insert(steps, new)
        pending = [new for new in pending if new not in ready]
    return [(level, [step.p for step in steps if step.level == level]) for level, _ in levels]


def _with_place(p: AnyExtension) -> PlacedPass:
    if isinstance(p, PlacedPass):
        return p
    if _is_class_of_pass(p):
        name = getattr(p, "__name__", "")
        raise RelexError(f"expected a pass in 'passes', found the class {name}: write {name}()")
    expect_kind(p, ModulePass, "a pass", "passes")
    place = declared_place(p)
    if place is None:
        raise RelexError(
            f"expected a place for pass '{p.name}' in the compilation: @extends_pipeline(after=...) on its class, or "
            "placed(p, after=...)"
        )
    return PlacedPass(p, place)


def _insert(steps: list[_Step], new: PlacedPass) -> None:
    after, before = new.place.after, new.place.before
    names = [step.p.name for step in steps]
    end = len(names) if before is None else names.index(before)
    if after is None:
        i = end
    else:
        i = len(names) - names[::-1].index(after)
        # Passes at the same place keep their order.
        while i < end and steps[i].after == after:
            i += 1
    if i > end:
        raise RelexError(f"pass '{new.p.name}' has no place: '{after}' runs later than '{before}'")
    level = steps[max(i - 1, 0)].level
    expected = new.p.works_on if isinstance(new.p, RelexPass) else None
    if expected not in (None, level):
        raise RelexError(
            f"expected a place on level '{expected}' for pass '{new.p.name}', found {new.place}, which is on level "
            f"'{level}'"
        )
    steps.insert(i, _Step(new.p, level, after))


def _explain(pending: Sequence[PlacedPass], known: set[str]) -> NoReturn:
    """Raise the reason why none of these passes can be placed."""
    waiting = {new.p.name for new in pending}
    for new in pending:
        for name in filter(None, (new.place.after, new.place.before)):
            if name not in known and name not in waiting:
                from relex.dialects.spelling import advice

                hint = advice(name, {*known, *waiting}, "--dump-pass-pipeline prints them")
                reason = f"no pass '{name}' takes part in the compilation; {hint}"
                raise UnknownNameError(f"pass '{new.p.name}' belongs {new.place}, but {reason}")
    places = ", ".join(f"'{new.p.name}' {new.place}" for new in pending)
    raise RelexError(f"expected passes that can be put in an order, found a cycle: {places}")
