"""What a suite came to."""

import dataclasses


@dataclasses.dataclass
class Outcome:
    suite: str
    passed: int = 0
    failed: list = dataclasses.field(default_factory=list)    # (case, reason)
    left_out: list = dataclasses.field(default_factory=list)  # (case, reason)
    seconds: float = 0.0
    log: str = ""

    def add(self, other):
        """What a part of the suite came to. The log is that of the last part with a failure, or of the first."""
        self.passed += other.passed
        self.failed += other.failed
        self.left_out += other.left_out
        self.seconds += other.seconds
        if other.failed or not self.log:
            self.log = other.log

    @property
    def ran(self):
        return self.passed + len(self.failed)
