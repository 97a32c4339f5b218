"""Why a test of a GoogleTest program may be left out. The list may only get shorter: another reason is a failure."""

import re

# A pattern of what GTEST_SKIP() says, and what makes it right.
REASONS = {
    # What a machine lacks.
    r"(io_uring is not available: )?(io_uring_(setup|enter): (EPERM|ENOSYS) |the kernel's io_uring is older than that of ).*":
        "a container or a policy keeps it off, or the kernel is older; the same test runs on epoll",
    r"io_uring_setup: ENOMEM .*": "an injected fault: what is tested is what is told without it",
    r".* loops on epoll: io_uring is not available: .*": "there is no first loop with a ring, whose neighbours could have none",
    r"before Linux 6\.17 a receive goes on until .*": "the kernel has no end to set; the fallback is tested by injection",
    r"no loop gets a ring in this run": "an injected fault refuses them all",
    r"the hosts file of this machine names nothing but localhost": "the test reads the machine's own file",
    r"no IPv6 here: .*": "the same tests run on IPv4",
    # What a build cannot show.
    r"(this build takes frames|frames come|sanitizer builds take frames) from the heap.*": "to see their misuse",
    r"the sanitizer itself cannot do without": "the test takes memory or descriptors away from the whole process",
    r"ThreadSanitizer supports no threads in the child of a fork\(\)": "its own limit; every other build runs it",
    r"g\+\+ without optimisation and without the trampoline .*": "decision 0001; every other build runs it",
    r"tests of ChooseBackend say what is told then": "the run injects a fault that makes a loop another one's",
}

# What the emulator of programs (scripts/cross.py) cannot show: of a program of tests, names, in which * may stand.
EMULATED = {
    "unit": {"Either/ConfinedFolder.OnlyTheKernelFollowsLinksSafely/by_kernel": "qemu-user 7.2 does not know openat2()"},
    "e2e": {},
}


def may_be(reason):
    return any(re.fullmatch(pattern, reason) for pattern in REASONS)
