"""The program coracle console."""

import re

from programs import Background, own

START_LIMIT_S = 20
AT = re.compile(r"The console is at (http://(\S+)/#([0-9a-f]{32}))$")


class Console(Background):
    """Its page's address, the host in it, and the token."""

    def __init__(self, *words, env=None):
        super().__init__(own("coracle"), "console", *words, "--port", "0", env=env)
        found = self.wait_for(AT, START_LIMIT_S)
        self.url, self.host, self.token = found[1], found[2], found[3]
