"""include/ and src/ copied into an empty project, which builds them by a CMakeLists.txt of its own."""

import shutil

import pytest

from programs import ROOT
from user_project import CONSUME, LIMIT_S, User


@pytest.mark.timeout(LIMIT_S)
def test_copied_sources_build_with_a_project_of_ones_own():
    user = User("copied")
    shutil.copytree(CONSUME / "copied", user.scratch, dirs_exist_ok=True)
    for part in ("include", "src"):
        shutil.copytree(ROOT / part, user.scratch / "coracle" / part)
    build = user.build(user.scratch, user.scratch / "build", "-DCMAKE_BUILD_TYPE=None", "-DCMAKE_UNITY_BUILD=ON")
    user.run(build / "server")
