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
    log: str = ""

    @property
    def ran(self):
        return self.passed + len(self.failed)
