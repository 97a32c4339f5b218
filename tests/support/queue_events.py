"""The events of completion queues, as the programs of tests/adapters/grpcpp print them: "1+ 2-"."""

import re

# The tag of the notice of the end of a call (AsyncNotifyWhenDone), with that of the event that follows, of Finish().
NOTICE = re.compile(r"\b9\+ (\d+\+)")


def with_notices_last(cases):
    """What Debian's library shows, by case, as coracle::grpcpp shows it: there the notice of the end of a call comes after the event of
    Finish(), while grpc++ has it in the queue before. The documentation of grpc++ promises no order."""
    return {name: NOTICE.sub(r"\1 9+", seen) for name, seen in cases.items()}
