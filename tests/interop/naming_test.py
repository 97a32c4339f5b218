"""Clients that find their servers by files and registries: real sockets, with stand-ins for the registries."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import time

import pytest

from api_server import ApiServer, endpoint
from certificates import Certificates
from consul import Consul, instance
from etcd import Etcd
from name_server import NameServer
from programs import Background, own, peer, run
from stand_in import HOSTILE

LIMIT_S = 30
PORTS = re.compile(r"^ports: (\d+) (\d+) (\d+)$")
KUBERNETES = "kubernetes:///movies.films:grpc"


class Named(Background):
    """named_client: `ports` of its servers; which of them answer its calls."""

    def __init__(self, *words, **environment):
        super().__init__(own("named_client"), *words, env={"CORACLE_LOG": "warning,client=info,server=info", **environment})
        self.ports = [int(port) for port in self.wait_for(PORTS, LIMIT_S).groups()]

    def expect(self, *answers):
        """Waits until these servers, or these errors, are all that its last calls got."""
        text = " ".join(sorted(str(one) for one in answers))
        self.wait_for(re.compile(rf"^answers: {text}$"), LIMIT_S)

    def expect_error(self, pattern):
        self.wait_for(re.compile(rf"^answers: error: UNAVAILABLE: .*{pattern}"), LIMIT_S)

    def expect_line(self, pattern):
        self.wait_for(re.compile(pattern), LIMIT_S)


def write(path, *ports):
    """Puts a file into the place of another, as editors and ConfigMaps do."""
    next_path = path.with_suffix(".next")
    next_path.write_text(json.dumps({"endpoints": [f"127.0.0.1:{port}" for port in ports]}))
    os.replace(next_path, path)


def test_a_file_is_followed(tmp_path):
    path = tmp_path / "servers.json"
    with Named("file", f"file://{path}") as client:
        client.expect_error("servers.json")
        one, two, three = client.ports
        write(path, one, two)
        client.expect(one, two)
        path.write_text("{")
        client.expect_line("The last 2 servers stay in use")
        write(path, two, three)
        client.expect_line("the names are available again")
        client.expect(two, three)
        client.expect_alive()


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def token(tmp_path):
    path = tmp_path / "token"
    path.write_text("a token\n")
    return path


def listing(api, *ports):
    """A slice for each port, all of one address: they are told apart by their ports."""
    for port in ports:
        api.put(f"movies-{port}", port, endpoint("127.0.0.1"))


def test_endpoint_slices_are_listed_and_watched_over_tls(certificates, token):
    with ApiServer((certificates.server, certificates.server_key)) as api, \
            Named("kubernetes", KUBERNETES, api.address, token, certificates.ca) as client:
        client.expect_error("no servers")
        one, two, three = client.ports
        listing(api, one, two)
        client.expect(one, two)
        listing(api, three)
        client.expect(one, two, three)
        api.put(f"movies-{one}", one, endpoint("127.0.0.1", ready=False))
        client.expect(two, three)
        listing(api, one)  # two of three that are gone within 30 s would stay in use
        client.expect(one, two, three)
        api.remove(f"movies-{three}")
        client.expect(one, two)
        assert [request.query.get("watch") for request in api.requests] == [None, "1"]


def test_pages_of_a_list_are_joined(token):
    with ApiServer() as api:
        for i in range(45):
            api.put(f"other-{i}", 1, endpoint("127.0.0.1"), port_name="http")
        with Named("kubernetes", KUBERNETES, api.address, token) as client:
            listing(api, *client.ports)
            client.expect(*client.ports)
        assert api.requests[1].query["continue"] == "5" and api.requests[2].query["continue"] == "10"


def test_a_watch_that_ends_goes_on_from_its_version(token):
    with ApiServer() as api, Named("kubernetes", KUBERNETES, api.address, token) as client:
        one, two, three = client.ports
        listing(api, one)
        client.expect(one)
        api.bookmark()
        version = api.version
        listing(api, two)
        client.expect(one, two)
        api.end_watches()
        api.wait_for_requests(3)
        listing(api, three)
        client.expect(one, two, three)
        lists = [request for request in api.requests if "watch" not in request.query]
        assert len(lists) == 1
        assert int(api.requests[-1].query["resourceVersion"]) > version


def test_a_version_that_is_gone_leads_to_a_list(token):
    with ApiServer() as api, Named("kubernetes", KUBERNETES, api.address, token) as client:
        one, two, three = client.ports
        listing(api, one)
        client.expect(one)
        with api.changed:
            listing(api, two, three)
            api.remove(f"movies-{one}")
            api.compact()
            api.end_watches()
        client.expect(two, three, one)  # more than half of the servers left at once
        assert sum("watch" not in request.query for request in api.requests) == 2


def test_the_token_is_read_anew(token):
    with ApiServer(token="another token") as api, Named("kubernetes", KUBERNETES, api.address, token) as client:
        client.expect_error("does not accept the token in ")
        listing(api, *client.ports)
        token.write_text("another token\n")
        client.expect(*client.ports)


def test_hints_keep_calls_in_their_zone(token):
    with ApiServer() as api, Named("kubernetes", KUBERNETES, api.address, token, "", "here") as client:
        one, two, three = client.ports
        for port, zone in ((one, "here"), (two, "there"), (three, "there")):
            api.put(f"movies-{port}", port, endpoint("127.0.0.1", zones=[zone]))
        client.expect(one)


@pytest.mark.parametrize("hostile", HOSTILE, ids=lambda one: one.__name__)
def test_a_hostile_api_server_changes_nothing(token, hostile):
    """Neither its lists nor its watches; the client recovers with the server."""
    with ApiServer() as api, Named("kubernetes", KUBERNETES, api.address, token) as client:
        one, two, three = client.ports
        listing(api, one, two)
        client.expect(one, two)
        before = len(api.requests)
        api.hostile = hostile
        api.end_watches()
        api.wait_for_requests(before + 3)
        client.expect_line("The last 2 servers stay in use")
        api.end_watches_at = None
        api.hostile = None
        listing(api, three)
        client.expect(one, two, three)
        client.expect_alive()
        assert not [line for line in client.said if "answers: error" in line and "no servers" not in line]


def test_a_target_that_is_no_service_is_an_error_that_says_so(token):
    with ApiServer() as api, Named("kubernetes", "kubernetes:///Movies.films:grpc", api.address, token) as client:
        client.expect_error(r"write kubernetes:///service\.namespace:port")
        assert not api.requests


# --- Consul


def test_instances_that_pass_are_followed():
    with Consul() as consul, Named("consul", "consul:///movies?tag=grpc&tag=v2", consul.address) as client:
        client.expect_error("no servers")
        one, two, three = client.ports
        both = ("v2", "grpc")
        consul.set(instance(one, tags=both), instance(two, tags=both, address=""), instance(three))
        client.expect(one, two)
        consul.set(instance(one, tags=both), instance(two, tags=both, status="critical"), instance(three, tags=both))
        client.expect(one, three)
        queries = [request.query for request in consul.requests]
        assert "index" not in queries[0] and queries[1]["index"] == "100" and len(queries) <= 5


def test_an_index_that_goes_back_begins_anew():
    with Consul() as consul, Named("consul", "consul:///movies", consul.address) as client:
        one, two, three = client.ports
        consul.set(instance(one), instance(two))
        client.expect(one, two)
        consul.set(instance(one), instance(two), instance(three), index=5)
        client.expect(one, two, three)
        consul.set(instance(two), instance(three))
        client.expect(two, three)
        assert sum("index" not in request.query for request in consul.requests) == 2


def test_a_token_that_is_refused_is_an_error_that_says_so():
    with Consul(token="a token") as consul:
        with Named("consul", "consul:///movies", consul.address) as client:
            client.expect_error("The token needs service:read")
        with Named("consul", "consul:///movies", consul.address, "a token") as client:
            consul.set(*map(instance, client.ports))
            client.expect(*client.ports)


def test_a_token_without_rights_is_an_error_that_says_so():
    """Consul answers 200 with an empty list."""
    with Consul() as consul, Named("consul", "consul:///movies", consul.address) as client:
        consul.filtered = True
        consul.set()
        client.expect_error("may not read the instances of movies. The token needs service:read")
        consul.set(instance(client.ports[0]))
        client.expect_line("may not read all instances of movies")
        client.expect(client.ports[0])


@pytest.mark.parametrize("hostile", HOSTILE, ids=lambda one: one.__name__)
def test_a_hostile_agent_changes_nothing(hostile):
    with Consul() as consul, Named("consul", "consul:///movies", consul.address) as client:
        one, two, three = client.ports
        consul.set(instance(one), instance(two))
        client.expect(one, two)
        before = len(consul.requests)
        consul.hostile = hostile
        consul.set(instance(one), instance(two))  # ends the query
        consul.wait_for_requests(before + 2)
        client.expect_line("The last 2 servers stay in use")
        consul.hostile = None
        consul.set(instance(one), instance(two), instance(three))
        client.expect(one, two, three)
        client.expect_alive()
        assert not [line for line in client.said if "answers: error" in line and "no servers" not in line]


@pytest.mark.parametrize("words", [("kubernetes", KUBERNETES), ("consul", "consul:///movies"), ("etcd", "etcd:///movies")],
                         ids=lambda words: words[0])
def test_proxies_of_the_environment_get_no_requests(words):
    """A registry elsewhere, at an address for documentation (RFC 5737), which never answers."""
    more = [""] if words[0] == "kubernetes" else []
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        url = f"http://127.0.0.1:{proxy.getsockname()[1]}"
        with Named(*words, "192.0.2.1:9", *more, grpc_proxy=url, https_proxy=url) as client:
            client.expect_error("")
            proxy.setblocking(False)
            with pytest.raises(BlockingIOError):
                proxy.accept()


def test_a_server_is_an_instance_in_consul_until_it_leaves():
    with Consul("the token") as consul, Named("register_in_consul", "movies", consul.address, "the token") as server:
        identity = f"movies-127.0.0.1:{server.ports[0]}"
        consul.wait_until(lambda: consul.registered, LIMIT_S)
        assert consul.registered[identity] == {
            "ID": identity, "Name": "movies", "Address": "127.0.0.1", "Port": server.ports[0], "Tags": ["grpc"], "Meta": {"zone": "a"},
            "Weights": {"Passing": 3, "Warning": 1},
            "Check": {"TTL": "15s", "Status": "passing", "DeregisterCriticalServiceAfter": "1m"}}
        consul.wait_until(lambda: consul.passes >= 1, LIMIT_S)
        # An agent that has lost the instance gets it again.
        with consul.changed:
            consul.registered.clear()
        server.expect_line("was lost")
        consul.wait_until(lambda: identity in consul.registered, LIMIT_S)
        assert server.stop() == 0, " | ".join(server.all_said())
        assert not consul.registered


# --- etcd


@pytest.fixture
def etcd(tmp_path):
    with Etcd(tmp_path) as one:
        yield one


def value_of(port):
    """As etcd's package for Go writes it."""
    return json.dumps({"Op": 0, "Addr": f"127.0.0.1:{port}", "Metadata": None})


def test_keys_of_etcd_are_followed(etcd):
    with Named("etcd", "etcd:///films/movies", etcd.address) as client:
        client.expect_error("no servers")
        one, two, three = client.ports
        etcd.put("films/movies/one", value_of(one))
        etcd.put("films/movies2/two", value_of(two))
        client.expect(one)
        for port in (two, three):
            etcd.put(f"films/movies/{port}", value_of(port))
        client.expect(one, two, three)
        etcd.delete("films/movies/one")
        client.expect(two, three)
        etcd.put("films/movies/bad", "no JSON")
        client.expect_line("a value is passed over: films/movies/bad: ")
        client.expect_alive()


def test_many_keys_are_read_in_pages(etcd):
    with Named("etcd", "etcd:///movies", etcd.address) as client:
        for i in range(450):
            etcd.put(f"movies/{i:04}", json.dumps({"Op": 1, "Addr": "127.0.0.1:1"}))
        etcd.stop()
        client.expect_line("etcd")
        etcd.start()
        for port in client.ports:
            etcd.put(f"movies/{port}", value_of(port))
        client.expect(*client.ports)


def test_calls_go_on_while_etcd_is_away(etcd):
    with Named("etcd", "etcd:///movies", etcd.address) as client:
        one, two, three = client.ports
        etcd.put("movies/1", value_of(one))
        etcd.put("movies/2", value_of(two))
        client.expect(one, two)
        etcd.stop()
        client.expect_line("The last 2 servers stay in use")
        etcd.lose_data()
        etcd.start()
        client.expect_line("no server is listed any more. The last 2 servers stay in use")
        for name, port in (("2", two), ("3", three), ("1", one)):
            etcd.put(f"movies/{name}", value_of(port))
        client.expect(one, two, three)
        etcd.delete("movies/1")
        client.expect(two, three)
        assert not [line for line in client.said if "answers: error" in line and "no servers" not in line]


def test_a_server_is_registered_until_it_drains(etcd):
    with Named("register", "movies", etcd.address) as server:
        port = server.ports[0]
        key = f"movies/127.0.0.1:{port}"
        keys = etcd.wait_until(lambda keys: keys, "movies/", LIMIT_S)
        value, lease = keys[key]
        assert json.loads(value) == {"Op": 0, "Addr": f"127.0.0.1:{port}", "Metadata": None}
        with Named("etcd", "etcd:///movies", etcd.address) as client:
            client.expect(port)
        # A lease that is lost is replaced.
        etcd.ask("lease/revoke", ID=lease)
        keys = etcd.wait_until(lambda keys: keys, "movies/", LIMIT_S)
        assert keys[key][1] != lease
        assert server.stop() == 0, " | ".join(server.all_said())
        assert etcd.keys("movies/") == {}


def test_a_key_has_a_lease_that_is_kept_alive(etcd):
    """That it ends with its server is tested in simulated time."""
    with Named("register", "movies", etcd.address) as server:
        _, lease = next(iter(etcd.wait_until(lambda keys: keys, "movies/", LIMIT_S).values()))
        server.expect_line("registered movies/")
        lives = etcd.ask("lease/timetolive", ID=lease, keys=True)
        assert lives["grantedTTL"] == "15" and len(lives["keys"]) == 1
        left_s = int(lives["TTL"])
        etcd.wait_until(lambda _: int(etcd.ask("lease/timetolive", ID=lease)["TTL"]) < left_s, "movies/", LIMIT_S)
        etcd.wait_until(lambda _: int(etcd.ask("lease/timetolive", ID=lease)["TTL"]) >= left_s, "movies/", LIMIT_S)


def test_a_server_registers_when_etcd_comes_back(etcd):
    etcd.stop()
    with Named("register", "movies", etcd.address) as server:
        server.expect_line("cannot register movies/.* in etcd, and tries again")
        etcd.start()
        etcd.wait_until(lambda keys: keys, "movies/", LIMIT_S)
        assert server.stop() == 0
        assert etcd.keys("movies/") == {}


def test_a_rolling_restart_loses_no_call(etcd):
    """Each of two servers is replaced by another one, under calls: it leaves etcd first, and drains later."""
    with Named("register", "movies", etcd.address) as one, Named("register", "movies", etcd.address) as two:
        etcd.wait_until(lambda keys: len(keys) == 2, "movies/", LIMIT_S)
        with Named("etcd", "etcd:///movies", etcd.address) as client:
            client.expect(one.ports[0], two.ports[0])
            with Named("register", "movies", etcd.address) as three, Named("register", "movies", etcd.address) as four:
                for old, now in ((one, (two, three, four)), (two, (three, four))):
                    etcd.wait_until(lambda keys: len(keys) == len(now) + 1, "movies/", LIMIT_S)
                    old.process.send_signal(signal.SIGTERM)
                    # It is no longer listed while it still serves.
                    etcd.wait_until(lambda keys: len(keys) == len(now), "movies/", LIMIT_S)
                    assert old.process.wait(LIMIT_S) == 0, " | ".join(old.all_said())
                    client.expect(*(server.ports[0] for server in now))
                client.expect_alive()
                assert not [line for line in client.said if "error" in line]


def test_etcd_may_demand_a_password(tmp_path):
    with Etcd(tmp_path, "--auth-token-ttl", "2") as etcd:
        etcd.demand_passwords("secret")
        user = ("root", "secret")
        with Named("etcd", "etcd:///movies", etcd.address, "root", "wrong") as client:
            client.expect_error("etcd: .*authentication failed")
        with Named("etcd", "etcd:///movies", etcd.address) as client:
            client.expect_error("etcd: .*user name is empty")
        with Named("register", "movies", etcd.address, *user) as server, \
                Named("etcd", "etcd:///movies", etcd.address, *user) as client:
            port = server.ports[0]
            client.expect(port)
            # Tokens are lost: each is obtained anew.
            etcd.stop()
            client.expect_line("stay in use")
            etcd.start()
            etcd.enter("secret")
            etcd.put("movies/another", value_of(client.ports[1]))  # a list that differs is that of a source which works again
            client.expect_line("the names are available again")
            client.expect(port, client.ports[1])
            etcd.delete("movies/another")
            time.sleep(3)  # longer than a token is valid without use
            assert server.stop() == 0, " | ".join(server.all_said())
            etcd.enter("secret")
            assert etcd.keys("movies/") == {}


def test_etcds_package_for_go_finds_our_servers_and_we_find_its(etcd):
    with Named("register", "movies", etcd.address) as server:
        found = run(peer("etcd_naming"), "call", etcd.address, "movies", 3)
        assert found.returncode == 0, found.stderr
        assert found.stdout.split() == [str(server.ports[0])] * 3
        assert server.stop() == 0
    with Named("etcd", "etcd:///movies", etcd.address) as client:
        one = client.ports[0]
        with Background(peer("etcd_naming"), "register", etcd.address, "movies", f"127.0.0.1:{one}", stdin=subprocess.PIPE) as registered:
            client.expect(one)
            value, _ = etcd.keys("movies/")["movies/from-go"]
            assert json.loads(value)["Metadata"] == {"weight": 3, "zone": "a"}
            registered.process.stdin.close()
            client.expect_line("no server is listed any more")
            assert registered.process.wait(LIMIT_S) == 0, registered.all_said()


# --- the rules for all sources


@contextlib.contextmanager
def registry(kind, folder, token):
    """The words for named_client, and a function that makes these ports all that the registry lists."""
    if kind == "file":
        path = folder / "servers.json"
        yield (f"file://{path}",), lambda *ports: write(path, *ports)
    elif kind == "kubernetes":
        with ApiServer() as api:
            def set_slices(*ports):
                with api.changed:
                    before = set(api.slices)
                    listing(api, *ports)
                    for name in before - {f"movies-{port}" for port in ports}:
                        api.remove(name)
            yield (KUBERNETES, api.address, token), set_slices
    elif kind == "consul":
        with Consul() as consul:
            yield ("consul:///movies", consul.address), lambda *ports: consul.set(*map(instance, ports))
    else:
        with Etcd(folder) as etcd:
            def set_keys(*ports):
                for port in ports:
                    etcd.put(f"movies/{port}", value_of(port))
                for key in set(etcd.keys("movies/")) - {f"movies/{port}" for port in ports}:
                    etcd.delete(key)
            yield ("etcd:///movies", etcd.address), set_keys


@pytest.mark.parametrize("kind", ["file", "kubernetes", "consul", "etcd"])
def test_a_list_that_empties_or_jumps_keeps_the_servers(kind, tmp_path, token):
    with registry(kind, tmp_path, token) as (words, set_ports), Named(kind, *words) as client:
        one, two, three = client.ports
        set_ports(one, two)
        client.expect(one, two)
        before = len(client.said)
        set_ports()
        # They may leave one by one.
        client.expect_line("(no server is listed any more|lists no server).*The last [12] servers stay in use")
        set_ports(three)
        client.expect(one, two, three)
        assert not [line for line in client.said[before:] if "error" in line]


# --- DNS


def test_dns_has_services_and_their_service_config():
    with NameServer() as dns:
        target = f"dns://{dns.address}/_grpc._tcp.movies.test"
        dns.records["one.test", "A"] = ["127.0.0.1"]
        with Named("dns", target) as client:
            client.expect_error("_grpc._tcp.movies.test")
            one, two, three = client.ports
            services = [(1, 10, one, "one.test"), (1, 0, two, "one.test"), (2, 0, three, "one.test")]
            dns.records["_grpc._tcp.movies.test", "SRV"] = services
            client.expect(one, two)  # the better priority; the program's policy is round_robin
            assert ("_grpc_config.movies.test", "TXT") in dns.asked
            choices = [{"clientLanguage": ["java"], "serviceConfig": {"loadBalancingConfig": [{"none": {}}]}},
                       {"serviceConfig": {"loadBalancingConfig": [{"pick_first": {}}]}}]
        dns.records["_grpc_config.movies.test", "TXT"] = ["v=spf1 -all", "grpc_config=" + json.dumps(choices)]
        with Named("dns", target) as client:
            one, two, three = client.ports
            dns.records["_grpc._tcp.movies.test", "SRV"] = [(1, 1, one, "one.test"), (1, 1, two, "one.test")]
            client.wait_for(re.compile(rf"^answers: ({one}|{two})$"), LIMIT_S)
            client.expect_alive()


def test_localhost_and_addresses_have_no_service_config():
    with NameServer() as dns:
        for host in ("localhost", "127.0.0.1"):
            with Named("dns", f"dns://{dns.address}/{host}:1") as client:
                client.expect_error("")
        assert not dns.asked
