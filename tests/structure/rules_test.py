"""The structure of the project, a test per rule."""

import pathlib

import pytest

import commits
import contents
import includes
import named_tests
import reference
import sizes
import thread_claims
from tree import DoesNotApply, Tree

RULES = {
    "RoomsAreNamedInRoomsTxt": includes.rooms_exist,
    "IncludesFollowTheDirectionsOfTheRooms": includes.directions,
    "ProgramsUsePublicHeaders": includes.programs,
    "TheWorldIsIncludedOnlyWhereItBelongs": includes.world,
    "HeaderNamesStandInProtocol": contents.header_names,
    "EachRoomHasAShortReadme": sizes.room_readmes,
    "NamesSayWhatIsInside": contents.names,
    "CommentsAreInPlainWords": contents.comments,
    "PagesAreInPlainWords": contents.pages,
    "HeadersHavePragmaOnce": contents.pragma_once,
    "NoPathOfOneMachineIsCommitted": contents.no_machine_paths,
    "MergesAreWhole": contents.merges_are_whole,
    "TimeAndChanceComeFromTheLoop": contents.time_and_chance_come_from_the_loop,
    "TestsNeitherSleepNorAreSwitchedOff": contents.honest_tests,
    "ScriptsAreExecutable": contents.scripts_run,
    "LinksLeadSomewhere": contents.links,
    "TheReadmeNamesTheTwoCommandsWithTheirTimes": contents.commands_of_the_readme,
    "PagesAreInTheNav": contents.pages_in_the_nav,
    "NamedOptionsExist": contents.options_exist,
    "EachPublicNameHasAComment": reference.names_have_comments,
    "WhatTheReferenceLeavesOutIsListed": reference.what_is_left_out_is_listed,
    "NamesOfPagesAreInTheReference": reference.names_of_pages_exist,
    "NamedTestsExist": named_tests.named_tests_exist,
    "ClaimsAboutThreadsAreTested": thread_claims.claims_are_tested,
    "NewCommitsKeepTheRuleOfMessages": commits.new_messages,
}


@pytest.fixture(scope="module")
def project():
    return Tree(pathlib.Path(__file__).parents[2])


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_the_project_keeps_the_rule(rule, project):
    try:
        violations = list(rule(project))
    except DoesNotApply as reason:
        pytest.skip(str(reason))
    assert not violations, "\n".join(violations)
