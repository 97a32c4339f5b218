"""Labels of the tests in Python that start large programs of other projects, or the same programs in many combinations. A run of everything, such as the one of CI, keeps one
case of each kind; `./dev test LABEL` runs all tests with the label."""

import fnmatch

# A test has the label if it uses one of these fixtures, itself or through another fixture.
FIXTURES = {
    "browser": ("browser", "chromium"),  # headless Chromium
    "proxy": ("reverse_proxy", "proxy_of_http1", "mesh_with_envoy"),  # nginx, HAProxy, Envoy
    "generator": ("generated_client",),  # openapi-python-client
    "grpcpp": ("both_libraries",),       # programs that are built with coracle::grpcpp and with grpc++
}
# The cases that stand for the others of their file.
KEPT = {
    "browser": [
        # All clients of pages, fetch() and EventSource, from another origin, with TLS: one visit, which many tests examine.
        "interop/browser_test.py::*[[]HTTP/2 with TLS*",
        # Messages go both ways while the call is open.
        "interop/console_test.py::test_both_sides_of_a_stream_take_turns",
        "interop/operator_pages_test.py::test_the_overview_has_the_calls_of_each_method",
        "interop/movie_page_test.py::test_a_person_adds_movies_and_sees_those_of_others",
        "tools/load_report_test.py::test_each_chart_is_drawn",
        "docs/site_test.py::test_the_searches_find_pages_and_classes[[]from the disk]",
    ],
    "proxy": [
        # Each proxy, with full-duplex streams: what a wrong configuration breaks first.
        "interop/reverse_proxy_test.py::test_messages_of_grpc_streams_pass_one_by_one*",
        # The connections of HTTP/1.1 that a proxy shares between clients.
        "interop/reverse_proxy_test.py::test_a_refused_request_costs_no_request_of_another_client[[]nginx]",
        # Envoy as a member of a mesh, and in front of a server that the control plane configures.
        "interop/xds_envoy_test.py::test_calls_take_the_same_routes",
        "interop/xds_envoy_test.py::test_envoy_calls_a_server_that_the_plane_configures",
        # Envoy on both sides of connections with certificates.
        "interop/xds_envoy_security_test.py::test_envoy_and_we_admit_the_same_calls",
    ],
    # Each program once on each side of Google's library.
    "grpcpp": ["interop/grpcpp_programs_test.py::*[[]coracle-google*", "interop/grpcpp_programs_test.py::*[[]google-coracle*"],
    "generator": ["interop/openapi_client_test.py::test_a_generated_client_posts_gets_and_reads_errors"],
}
# Other tests of what a label is about, by patterns of their cases: ./dev test LABEL runs them, too. All of them run with the tests that
# have no label.
ALSO = {
    "grpcpp": [
        "interop/grpcpp_relinked_test.py::*",
        "interop/grpcpp_features_test.py::*",
        "interop/grpcpp_greedy_test.py::*",
        "interop/grpcpp_binary_log_test.py::*",
        "interop/grpcpp_xds_test.py::*",
        "interop/grpc_go_test.py::*GrpcppsApi*",
        "conformance/connectrpc_test.py::*grpcpps_api*",
        "consume/relinked_test.py::*",
    ],
}


def folders(label):
    """Of tests/, where the tests are that the label runs."""
    return sorted({pattern.partition("/")[0] for pattern in KEPT[label] + ALSO.get(label, [])})


def label_of(fixtures):
    """The label of a test that uses these fixtures; None if it has none."""
    return next((label for label, names in FIXTURES.items() if not set(names).isdisjoint(fixtures)), None)


def is_kept(case):
    """Whether the case, by the name that pytest gives it, runs with the tests that have no label."""
    return any(fnmatch.fnmatchcase(case, pattern) for patterns in KEPT.values() for pattern in patterns)


def run_also_by(case):
    """The labels that run the case, by the name that pytest gives it, though every run runs it."""
    return [label for label, patterns in ALSO.items() if any(fnmatch.fnmatchcase(case, pattern) for pattern in patterns)]


def reason(label):
    """Why a case is left out."""
    return f"one case of its kind runs; ./dev test {label} runs them all"


REASONS = frozenset(reason(label) for label in FIXTURES)
