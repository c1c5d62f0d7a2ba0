"""The question of a loop, at the end of each trip, whether it goes on: someone may have interrupted the run.

```mlir
func.func private @relex_goes_on() -> i1 {
  %true = arith.constant true
  func.return %true : i1
}
...
%go_on = func.call @relex_goes_on() : () -> i1
cf.assert %go_on, "expected to go on, found that the run was stopped"
```

The answer in the text is yes. In programs that this process runs, the runtime answers.
"""

from __future__ import annotations

GOES_ON = "relex_goes_on"
"""The function that a loop calls at the end of each trip."""

STOPPED = "expected to go on, found that the run was stopped"
"""The message of the assertion that its answer is yes."""
