"""Each structure rule can fail: a small good tree passes, and each planted fault is found."""

import pathlib
import subprocess

import pytest

from rules_test import RULES
from tree import DoesNotApply, Tree

COMMIT = "a commit's message"  # in place of a file's name

README = "```sh\n./dev demo  # shows it: in 5 minutes\n./dev test  # in 40 to 60 minutes\n```\n"

GOOD = {
    "README.md": README,
    "CONTRIBUTING.md": "./dev test  # everything, in 40 to 60 minutes on two cores\n",
    "dev": "case $command in\n  demo)\n    ;;\n  test)\n    ;;\nesac\n",
    "docs/start.md": "# Start\n",
    "mkdocs.yml": "nav:\n  - Start: start.md\n  - Keys: keys.md\n",
    "cmake/rooms.txt": "base:\ncoro: base\nhpack*: base\nruntime: base coro\nnet: base coro runtime\nrpc: base net\nclient: base rpc\nserver: base rpc\n",
    "include/coracle/base/status.hpp": "#pragma once\n#include <string>\n",
    "include/coracle/client/channel.hpp": '#pragma once\n#include "coracle/base/status.hpp"\n',
    "include/coracle/net/listener.hpp": "#pragma once\n",
    "include/coracle/runtime.hpp": '#pragma once\n#include "coracle/net/listener.hpp"\n',
    "src/net/README.md": "# net\n",
    "src/net/resolver.cpp": '#include "net/resolver.hpp"\n#include <net/if.h>\n',
    "include/coracle/client/call_options.hpp": "#pragma once\n/// The options of a call.\nclass call_options {\n  int timeout;\n};\n",
    "include/coracle/client/key_options.hpp":
        "#pragma once\nnamespace coracle::tls {\n/// Keys.\nclass key_options {\n public:\n  /// Its file.\n  int file;\n};\n}\n",
    "docs/keys.md": "# Keys\n\n`tls::key_options::file` is also `key_options::file`, and `std::string` is not ours.\n",
    "include/coracle/client.hpp": '#pragma once\n#include "coracle/client/channel.hpp"\n',
    "src/base/status.cpp": '#include "coracle/base/status.hpp"\n',
    "src/base/README.md": "# base\nSee [the status](../../include/coracle/base/status.hpp).\n",
    "src/client/README.md": "# client\n",
    "src/runtime/README.md": "# runtime\n",
    "src/runtime/uring/ring.cpp": "#include <liburing.h>\n#include <sys/eventfd.h>\nauto t = std::chrono::steady_clock::now();\n",
    "src/hpack/README.md": "# hpack\n",
    "src/hpack/huffman_table.cpp": "int x;\n" * 900,
    "src/rpc/README.md": "# rpc\n",
    "tests/structure/left_out.txt": "# number, tab, header, tab, reason\n",
    "tests/structure/words.txt": "# word, tab, instead\nnobody\tno caller\n",
    "src/rpc/peer.cpp": '#include "net/resolver.hpp"\n',
    "src/rpc/codec.cpp": "#include <google/protobuf/message.h>\n",
    "tests/golden/kinds.coracle.hpp": "#pragma once\n" + "int x;\n" * 900,
    "include/coracle/client/latch.hpp": "#pragma once\n// Counted down from any\n// thread.\n",
    "tests/unit/client/thread_claims_test.cpp": "// client/latch.hpp: count_down()\nint x;\n// client/event.hpp\n",
    "tests/unit/base/status_test.cpp": "// sleeps on purpose: measures the sleep itself\nstd::this_thread::sleep_for(1ms);\n",
}

FAULTS = (
    ("RoomsAreNamedInRoomsTxt", "src/attic/old.cpp", "int x;\n"),
    ("RoomsAreNamedInRoomsTxt", "include/coracle/everything.hpp", "#pragma once\n"),
    ("IncludesFollowTheDirectionsOfTheRooms", "src/base/up.cpp", '#include "coracle/client/channel.hpp"\n'),
    ("IncludesFollowTheDirectionsOfTheRooms", "src/base/up.cpp", "#include <coracle/client/channel.hpp>\n"),
    ("IncludesFollowTheDirectionsOfTheRooms", "src/client/listen.cpp", '#include "server/acceptor.hpp"\n'),
    ("IncludesFollowTheDirectionsOfTheRooms", "src/rpc/call.cpp", '#  include "coracle/client.hpp"\n'),
    ("IncludesFollowTheDirectionsOfTheRooms", "src/client/channel.cpp", '#include "coracle/client.hpp"\n'),
    ("IncludesFollowTheDirectionsOfTheRooms", "src/runtime/accept.cpp", '#include "coracle/net/listener.hpp"\n'),
    ("IncludesFollowTheDirectionsOfTheRooms", "src/rpc/call.cpp", '#include "call.hpp"\n'),
    ("IncludesFollowTheDirectionsOfTheRooms", "include/coracle/rpc/call.hpp", '#pragma once\n#include "rpc/frame.hpp"\n'),
    ("ProgramsUsePublicHeaders", "tools/call/call.cpp", '#include "hpack/decoder.hpp"\n'),
    ("TheWorldIsIncludedOnlyWhereItBelongs", "src/base/read.cpp", "#include <unistd.h>\n"),
    ("TheWorldIsIncludedOnlyWhereItBelongs", "src/rpc/peer.cpp", "#include <net/if.h>\n"),
    ("TheWorldIsIncludedOnlyWhereItBelongs", "src/runtime/epoll.cpp", "#include <liburing.h>\n"),
    ("TheWorldIsIncludedOnlyWhereItBelongs", "src/hpack/late.cpp", "#include <thread>\n"),
    ("TheWorldIsIncludedOnlyWhereItBelongs", "src/coro/wire.cpp", "#include <google/protobuf/message.h>\n"),
    ("TheWorldIsIncludedOnlyWhereItBelongs", "include/coracle/runtime/ring.hpp", "#pragma once\n#include <sys/uio.h>\n"),
    ("CommentsAreInPlainWords", "src/rpc/call.cpp", "int x;  // nobody calls it\n"),
    ("CommentsAreInPlainWords", "src/rpc/call.cpp", "// " + "word " * 30 + "\n"),
    ("CommentsAreInPlainWords", "src/rpc/call.cpp", 'auto text = "nobody calls it";\n'),
    ("CommentsAreInPlainWords", "tests/unit/rpc/call_test.cpp", "int x;  // nobody calls it\n"),
    ("CommentsAreInPlainWords", "bench/e2e/load.cpp", "// " + "word " * 30 + "\n"),
    ("PagesAreInPlainWords", "docs/start.md", "# Start\n\nNobody reads this.\n"),
    ("NamedOptionsExist", "src/rpc/call.cpp", 'auto text = "set call_options::patience";\n'),
    ("NamedOptionsExist", "docs/start.md", "# Start\n\nSet `call_options::timeout()`.\n"),
    ("HeaderNamesStandInProtocol", "src/server/reply.cpp", 'to.add("grpc-status", "0");\n'),
    ("EachRoomHasAShortReadme", "src/coro/task.cpp", "int x;\n"),
    ("EachRoomHasAShortReadme", "src/rpc/README.md", "a line\n" * 61),
    ("NamesSayWhatIsInside", "src/base/utils.hpp", "#pragma once\n"),
    ("NamesSayWhatIsInside", "src/rpc/detail/call.hpp", "#pragma once\n"),
    ("NamesSayWhatIsInside", "src/rpc/CallFrame.cpp", "int x;\n"),
    ("HeadersHavePragmaOnce", "src/rpc/call.hpp", "int x;\n"),
    ("NoPathOfOneMachineIsCommitted", "docs/start.md", "cd /ho" "me/me/coracle\n"),
    ("NoPathOfOneMachineIsCommitted", "scripts/get", "curl https://registry.npm" "js.org/x\n"),
    ("MergesAreWhole", "docs/start.md", "<<<<<<" "< HEAD\n"),
    ("TimeAndChanceComeFromTheLoop", "src/rpc/call.cpp", "auto now = std::chrono::steady_clock::now();\n"),
    ("TestsNeitherSleepNorAreSwitchedOff", "tests/e2e/drain_test.cpp", "std::this_thread::sleep_for(1s);\n"),
    ("TestsNeitherSleepNorAreSwitchedOff", "tests/e2e/drain_test.cpp", "TEST(Drain, DISABLED_Ends) {}\n"),
    ("ScriptsAreExecutable", "tests/interop/curl_test.py", "#!/usr/bin/env python3\n"),
    ("LinksLeadSomewhere", "docs/start.md", "[the guide](guides/none.md)\n"),
    ("TheReadmeNamesTheTwoCommandsWithTheirTimes", "README.md", README.replace("./dev test", "./dev package")),
    ("TheReadmeNamesTheTwoCommandsWithTheirTimes", "README.md", README.replace("in 5 minutes", "soon")),
    ("TheReadmeNamesTheTwoCommandsWithTheirTimes", "CONTRIBUTING.md", "./dev test  # everything, in twelve minutes\n"),
    ("TheReadmeNamesTheTwoCommandsWithTheirTimes", "dev", "case $command in\n  test)\n    ;;\nesac\n"),
    ("PagesAreInTheNav", "docs/guides/lost.md", "# Lost\n"),
    ("PagesAreInTheNav", "docs/decisions/0099-lost.md", "# 0099: Lost\n"),
    ("EachPublicNameHasAComment", "include/coracle/client/channel.hpp", "#pragma once\nnamespace coracle {\nvoid connect();\n}\n"),
    ("EachPublicNameHasAComment", "include/coracle/client/channel.hpp",
     "#pragma once\nnamespace coracle {\n/// A channel.\nclass channel {\n public:\n  int state = 0;  // idle\n};\n}\n"),
    ("EachPublicNameHasAComment", "include/coracle/client/channel.hpp",
     "#pragma once\nnamespace coracle {\n/// What a channel does.\nenum class kind {\n  idle,  ///< nothing\n  ready,\n};\n}\n"),
    ("EachPublicNameHasAComment", "include/coracle/client/channel.hpp",
     "#pragma once\nnamespace coracle {\n/// Awaits.\nclass wait {\n public:\n  /// Returns false.\n  bool await_ready();\n};\n}\n"),
    ("WhatTheReferenceLeavesOutIsListed", "include/coracle/net/listener.hpp", "#pragma once\n/// @cond\nint accepted();\n/// @endcond\n"),
    ("WhatTheReferenceLeavesOutIsListed", "tests/structure/left_out.txt", "# number, tab, header, tab, reason\n1\tnet/listener.hpp\tan awaiter\n"),
    ("WhatTheReferenceLeavesOutIsListed", "tests/structure/left_out.txt", "0\tnet/listener.hpp\n"),
    ("NamesOfPagesAreInTheReference", "docs/start.md", "# Start\n\nCall `call_options::within()`.\n"),
    ("NamesOfPagesAreInTheReference", "docs/start.md", "# Start\n\nCall `call_options.within()`.\n"),
    ("NamesOfPagesAreInTheReference", "docs/start.md", "# Start\n\nUse a `coracle::patience`.\n"),
    ("NamesOfPagesAreInTheReference", "docs/start.md", "# Start\n\nSet `call_options::include`.\n"),
    ("NamesOfPagesAreInTheReference", "docs/start.md", "# Start\n\nSet `cal_options::timeout`.\n"),
    ("NamesOfPagesAreInTheReference", "docs/start.md", "# Start\n\nSet `key_options::patience`.\n"),
    ("NamedTestsExist", "docs/reference/cves.md", "| CVE-1 | flood | bucket | `StopsTheFlood` in a file |\n"),
    ("ClaimsAboutThreadsAreTested", "include/coracle/client/event.hpp", "#pragma once\n// Set from any thread.\n"),
    ("ClaimsAboutThreadsAreTested", "include/coracle/client/gate.hpp", "#pragma once\n// Opened from any\n// thread.\n"),
    ("NewCommitsKeepTheRuleOfMessages", COMMIT, "A limit is new\n"),
)


def found_by(rule, tree):
    try:
        return list(rule(tree))
    except DoesNotApply:
        return []


def commit(root, message):
    subprocess.run(["git", "init", "--quiet", root], check=True)
    subprocess.run(["git", "-C", root, "-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "--quiet", "--allow-empty",
                    "--no-verify", "-m", message], check=True)


def violations_in(root, files):
    for name, text in files.items():
        if name == COMMIT:
            commit(root, text)
            continue
        path = pathlib.Path(root, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    tree = Tree(root)
    return {name: found for name, rule in RULES.items() if (found := found_by(rule, tree))}


def test_a_good_tree_passes(tmp_path):
    assert violations_in(tmp_path, GOOD) == {}


@pytest.mark.parametrize(("rule", "name", "text"), FAULTS, ids=(f"{rule}-{name}" for rule, name, _ in FAULTS))
def test_a_fault_is_found(rule, name, text, tmp_path):
    assert rule in violations_in(tmp_path, GOOD | {name: text})


def test_each_rule_has_a_fault():
    assert {rule for rule, _, _ in FAULTS} == set(RULES)
