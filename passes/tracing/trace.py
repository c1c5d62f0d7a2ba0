"""The record of what passes do, made while they run. Passes add to it by the functions of `relex.passes.tracing`."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter

from relex.dialects.errors import Diagnostic, diagnose
from relex.passes.tracing.records import Attempt, PassRecord, Remark, RuleApplication

if TYPE_CHECKING:
    from relex.passes.tracing.texts import OpTexts

T = TypeVar("T")


class RulesStopped(BaseException):
    """Ends a pass after the last rule that is to be applied. It is no `Exception`, as xDSL and passes catch those."""


@dataclass
class Trace:
    """The recorded events of passes, and a callback for each kind of event."""

    with_texts: bool = False
    """Record the text of ops before and after each application of a rule, which takes time."""
    stop_after: int | None = None
    """The number of applications after which `RulesStopped` is raised."""
    on_application: Callable[[RuleApplication], None] = lambda application: None
    on_refusal: Callable[[RuleApplication, str], None] = lambda attempt, reason: None
    """Called with the rule and place, and the reason."""
    on_remark: Callable[[Remark], None] = lambda remark: None

    passes: dict[str, PassRecord] = field(default_factory=dict[str, PassRecord], init=False)
    """The passes that ran, by name."""
    applications: list[RuleApplication] = field(default_factory=list[RuleApplication], init=False)
    remarks: list[Remark] = field(default_factory=list[Remark], init=False)
    failed: RuleApplication | None = field(default=None, init=False)
    """The rule that raised an exception, if one did."""

    _running: list[str] = field(default_factory=list[str], init=False)
    _open: list[Attempt] = field(default_factory=list[Attempt], init=False)
    """The patterns that are running, innermost last."""
    _texts: OpTexts | None = field(default=None, init=False)

    @property
    def pass_name(self) -> str:
        """The name of the running pass; empty if it is unknown."""
        return self._running[-1] if self._running else ""

    @property
    def running_pass(self) -> PassRecord:
        """The record of the running pass."""
        return self.passes.setdefault(self.pass_name, PassRecord())

    def restart(self) -> None:
        """Count applications from 1 again, for another program."""
        self.applications.clear()

    @contextmanager
    def running(self, p: ModulePass, module: ModuleOp) -> Generator[None]:
        """Attribute what happens to a pass that starts now. Raises `RulesStopped` if no rule is to be applied any
        more."""
        self._stop_at_limit()
        self._running.append(p.name)
        self.passes.setdefault(p.name, PassRecord())
        outer = self._open, self._texts
        self._open = []
        if self.with_texts:
            from relex.passes.tracing.texts import OpTexts

            self._texts = OpTexts(module)
        try:
            yield
        finally:
            self._running.pop()
            self._open, self._texts = outer

    def count(self, pass_name: str, name: str, count: int) -> None:
        """Add to a statistic of a pass."""
        counts = self.passes.setdefault(pass_name, PassRecord()).statistics
        counts[name] = counts.get(name, 0) + count

    def add_remark(self, op: Operation, message: str) -> None:
        """Record a remark."""
        where = diagnose(op, "")
        shown = f"{message} [{self.pass_name}]" if self.pass_name else message
        place = Diagnostic(shown, where.file, where.line, where.column, severity="remark")
        self.remarks.append(Remark(self.pass_name, message, place))
        self.on_remark(self.remarks[-1])

    def add_refusal(self, reason: str) -> None:
        """Record why the pattern that is running is not applied; ignored if there is none."""
        if self._open and reason not in self._open[-1].reasons:
            self._open[-1].reasons.append(reason)

    def add_matched(self, ops: Sequence[Operation]) -> None:
        """Record the ops that the pattern that is running has matched, before it changes them."""
        if self._open and self.with_texts:
            self._open[-1].before.update((op, (self._text(op), op.parent)) for op in ops)

    def attempt(
        self, rule: Callable[[Attempt], str], op: Operation, rewriter: PatternRewriter, run: Callable[[], object]
    ) -> object:
        """Run a pattern, and record what it does. It may run others, whose events are theirs."""
        outer = self._open[-1] if self._open else None
        if outer is not None and outer.rule == rule and outer.op is op:
            # A method of a base class.
            return run()
        attempt = Attempt(rule, op, op.parent_op(), rewriter)
        if self.with_texts:
            is_same = outer is not None and outer.op is op and not outer.changes
            attempt.text = outer.text if outer is not None and is_same else self._text(op)
        acted, rewriter.has_done_action = rewriter.has_done_action, False
        number = len(self.applications)
        with ExitStack() as stack:
            if outer is None or outer.rewriter is not rewriter:
                stack.enter_context(self._listening(rewriter))
            self._open.append(attempt)
            try:
                result = run()
            except Exception:
                self.failed = self.failed or self._application(attempt)
                raise
            finally:
                self._open.pop()
        fired = rewriter.has_done_action
        rewriter.has_done_action = acted or fired
        if attempt.changes or (fired and len(self.applications) == number):
            self._applied(attempt)
        elif attempt.reasons and not fired:
            self._refused(attempt)
        return result

    @contextmanager
    def applying(self, rule: str, ops: Sequence[Operation]) -> Generator[Callable[..., None]]:
        """Record the body as an application of a rule; see the function of that name."""
        attempt = Attempt(lambda _: rule, ops[-1], ops[-1].parent_op(), None, changes=True)
        if self.with_texts:
            attempt.before.update((op, (self._text(op), op.parent)) for op in ops)

        def made(*new: Operation) -> None:
            attempt.inserted.extend(new)
            if new and len(new[-1].results) == len(ops[-1].results):
                self._replaced_by(attempt, ops[-1], new[-1].results)

        yield made
        self._applied(attempt)

    def trying(self, rule: str, op: Operation, find: Callable[[Operation], T | None]) -> T | None:
        """Return what a function finds at an op; if that is None, the reasons given by `refuse` are recorded."""
        attempt = Attempt(lambda _: rule, op, op.parent_op(), None, text=self._text(op))
        self._open.append(attempt)
        try:
            found = find(op)
        finally:
            self._open.pop()
        if found is None and attempt.reasons:
            self._refused(attempt)
        return found

    @contextmanager
    def converting(
        self, rule: str, op: Operation
    ) -> Generator[Callable[[Sequence[Operation], Sequence[SSAValue | None]], None]]:
        """Record the body as an application of a rule of a conversion, if it calls the function that it gets, with new
        ops and the values that replace the results of the op. It has no number: programs between two rules of a
        conversion may be invalid."""
        attempt = Attempt(lambda _: rule, op, op.parent_op(), None, changes=True)
        if self.with_texts:
            attempt.before[op] = self._text(op), op.parent

        def converted(new: Sequence[Operation], values: Sequence[SSAValue | None]) -> None:
            attempt.inserted.extend(new)
            self._replaced_by(attempt, op, values)
            self._tell(replace(self._application(attempt, is_replaced=True), number=0))

        yield converted

    def _applied(self, attempt: Attempt) -> None:
        application = self._application(attempt)
        self.applications.append(application)
        self._tell(application)
        self._stop_at_limit()

    def _tell(self, application: RuleApplication) -> None:
        applied = self.running_pass.applied
        applied[application.rule] = applied.get(application.rule, 0) + 1
        self.on_application(application)

    def _stop_at_limit(self) -> None:
        if self.stop_after is not None and len(self.applications) >= self.stop_after:
            raise RulesStopped

    def _refused(self, attempt: Attempt) -> None:
        application = self._application(attempt)
        reasons = self.running_pass.refusals.setdefault(application.rule, {})
        for reason in attempt.reasons:
            ops = reasons.setdefault(reason, set())
            # Patterns are tried again and again.
            if attempt.op not in ops:
                ops.add(attempt.op)
                self.on_refusal(application, reason)

    def _application(self, attempt: Attempt, *, is_replaced: bool = False) -> RuleApplication:
        place = attempt.place()
        number, rule = len(self.applications) + 1, attempt.rule(attempt)
        if not self.with_texts:
            return RuleApplication(number, rule, self.pass_name, attempt.op.name, place)
        return RuleApplication(
            number, rule, self.pass_name, attempt.op.name, place, *self._texts_of(attempt, is_replaced)
        )

    def _texts_of(self, attempt: Attempt, is_replaced: bool) -> tuple[tuple[str, ...], ...]:
        """Return the ops that are matched, those before and those after. `is_replaced` says that the op counts as
        removed."""
        left = {op: text for op, (text, block) in attempt.before.items() if op.parent is block is not None}
        if is_replaced:
            left.pop(attempt.op)
        matched = tuple(text for op, text in left.items() if self._text(op) == text)
        before = {op: text for op, (text, _) in attempt.before.items() if text not in matched}
        after = [self._text(op) for op in dict.fromkeys(attempt.inserted) if op.parent is not None]
        if attempt.op.parent is not None and attempt.text and (now := self._text(attempt.op)) != attempt.text:
            before.setdefault(attempt.op, attempt.text)
            after.append(now)
        if not after:
            after = [self._value_text(value) for value in dict.fromkeys(attempt.values)]
        return matched, tuple(before.values()) or tuple(filter(None, [attempt.text])), tuple(after)

    def _text(self, op: Operation) -> str:
        return self._texts.text(op) if self._texts is not None else ""

    def _value_text(self, value: SSAValue) -> str:
        return self._texts.value_text(value) if self._texts is not None else ""

    @contextmanager
    def _listening(self, rewriter: PatternRewriter) -> Generator[None]:
        """Record what a rewriter does."""
        listeners: list[tuple[list[Any], Callable[..., None]]] = [
            (rewriter.operation_insertion_handler, self._inserted),
            (rewriter.operation_removal_handler, self._removed),
            (rewriter.operation_modification_handler, self._modified),
            (rewriter.operation_replacement_handler, self._replaced),
        ]
        for handlers, handler in listeners:
            handlers.append(handler)
        try:
            yield
        finally:
            for handlers, handler in listeners:
                handlers.remove(handler)

    def _inserted(self, op: Operation) -> None:
        self._open[-1].changes = True
        self._open[-1].inserted.append(op)

    def _removed(self, op: Operation) -> None:
        attempt = self._open[-1]
        attempt.changes = True
        if self.with_texts and op not in attempt.inserted:
            attempt.before.setdefault(op, (attempt.text if op is attempt.op else self._text(op), op.parent))

    def _modified(self, op: Operation) -> None:
        self._open[-1].changes = True

    def _replaced(self, op: Operation, values: Sequence[SSAValue | None]) -> None:
        self._replaced_by(self._open[-1], op, values)

    def _replaced_by(self, attempt: Attempt, op: Operation, values: Sequence[SSAValue | None]) -> None:
        attempt.values += [value for value in values if value is not None]
        if self._texts is not None:
            self._texts.replaced(op.results, values)
