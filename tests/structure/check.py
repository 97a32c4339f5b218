#!/usr/bin/env python3
"""Checks the structure of the project, a case per rule: check.py [--advice] [root]."""

import pathlib
import sys

import contents
import includes
import named_tests
import sizes
import thread_claims
from tree import Tree

RULES = {
    "RoomsAreNamedInRoomsTxt": includes.rooms_exist,
    "IncludesFollowTheDirectionsOfTheRooms": includes.directions,
    "ProgramsUsePublicHeaders": includes.programs,
    "TheWorldIsIncludedOnlyWhereItBelongs": includes.world,
    "HeaderNamesStandInProtocol": contents.header_names,
    "EachRoomHasAShortReadme": sizes.room_readmes,
    "NamesSayWhatIsInside": contents.names,
    "CommentsAreInPlainWords": contents.comments,
    "HeadersHavePragmaOnce": contents.pragma_once,
    "NoPathOfOneMachineIsCommitted": contents.no_machine_paths,
    "TimeAndChanceComeFromTheLoop": contents.time_and_chance_come_from_the_loop,
    "TestsNeitherSleepNorAreSwitchedOff": contents.honest_tests,
    "ScriptsAreExecutable": contents.scripts_run,
    "LinksLeadSomewhere": contents.links,
    "PagesAreInTheNav": contents.pages_in_the_nav,
    "NamedTestsExist": named_tests.named_tests_exist,
    "ClaimsAboutThreadsAreTested": thread_claims.claims_are_tested,
}


def check(tree):
    """Yields (rule, violations) for every rule."""
    for name, rule in RULES.items():
        yield name, list(rule(tree))


def main(arguments):
    roots = [argument for argument in arguments if not argument.startswith("--")]
    tree = Tree(roots[0] if roots else pathlib.Path(__file__).parents[2])
    failed = False
    for name, violations in check(tree):
        for violation in violations:
            print(f"  {violation}")
        failed |= bool(violations)
        more = f" (and {len(violations) - 1} more)" if len(violations) > 1 else ""
        print(f"FAIL {name}: {violations[0]}{more}" if violations else f"PASS {name}")
    if "--advice" in arguments:
        print("\n".join(sizes.long_files(tree)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
