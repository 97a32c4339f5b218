"""The documentation builds as a site, without a warning."""

import pytest

import peers
import site_builder


@pytest.mark.timeout(300)
def test_the_site_builds_without_a_warning():
    try:
        site_builder.install()
    except peers.Missing as reason:
        pytest.skip(str(reason))
    complaints = site_builder.build()
    assert not complaints, "\n".join(complaints)
