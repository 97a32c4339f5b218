"""Prints how the run went; its last line is `N passed, N failed`."""

import os


class Report:
    def __init__(self):
        self.outcomes = []

    def add(self, outcome):
        """Takes a suite's outcome and says it at once, so that a long run can be followed."""
        if not outcome.suite.startswith("build") and not outcome.ran and not outcome.left_out:
            outcome.failed.append((outcome.suite, "ran no test"))
        self.outcomes.append(outcome)
        print(self._line(outcome), flush=True)
        for case, reason in outcome.failed:
            print(f"    FAILED {case}: {reason}")
        if outcome.failed and outcome.log:
            self._show_log(outcome.log)
        return not outcome.failed

    def _show_log(self, log):
        if not os.environ.get("CI"):
            print(f"    log: {os.path.relpath(log)}")
            return
        with open(log, errors="replace") as text:
            for line in text.read().splitlines()[-60:]:
                print(f"    | {line}")

    def _line(self, outcome):
        if outcome.suite.startswith("build") and not outcome.failed:
            counts = f"done, {outcome.seconds_beside_others:.0f} s of it beside tests" if outcome.seconds_beside_others else "done"
        else:
            counts = f"{outcome.passed} passed, {len(outcome.failed)} failed"
            if outcome.left_out:
                counts += f", {len(outcome.left_out)} left out"
        return f"  {outcome.suite:<28} {counts:<44} {outcome.seconds:7.1f} s {outcome.cpu_seconds:7.1f} s of CPU"

    def finish(self):
        """Prints the summary; true when all passed."""
        passed = sum(outcome.passed for outcome in self.outcomes)
        failed = sum(len(outcome.failed) for outcome in self.outcomes)
        left_out = [(o.suite, case, reason) for o in self.outcomes for case, reason in o.left_out]
        print("\nSummary")
        for outcome in self.outcomes:
            print(self._line(outcome))
        if left_out:
            print("\nLeft out")
            for suite, case, reason in left_out:
                print(f"  {suite}: {case}: {reason}")
        if failed:
            print("\nFailed")
            for outcome in self.outcomes:
                for case, reason in outcome.failed:
                    print(f"  {outcome.suite}: {case}: {reason}")
        seconds, cpu_seconds = (sum(getattr(outcome, name) for outcome in self.outcomes) for name in ("seconds", "cpu_seconds"))
        print(f"\n{seconds / 60:.1f} minutes, {cpu_seconds / 60:.1f} minutes of CPU")
        if passed + failed == 0:
            failed = 1
            print("\nNo test ran")
        print(f"\n{passed} passed, {failed} failed", flush=True)
        return failed == 0
