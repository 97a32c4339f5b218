"""What a suite came to."""

import dataclasses


@dataclasses.dataclass
class Outcome:
    suite: str
    passed: int = 0
    failed: list = dataclasses.field(default_factory=list)    # (case, reason)
    left_out: list = dataclasses.field(default_factory=list)  # (case, reason)
    seconds: float = 0.0
    seconds_beside_others: float = 0.0
    cpu_seconds: float = 0.0
    log: str = ""

    def note(self, run):
        """Takes the log of a run, and what it took."""
        self.log = run.log
        self.seconds += run.seconds
        self.cpu_seconds += run.cpu_seconds

    @property
    def ran(self):
        return self.passed + len(self.failed)
