"""A stand-in for an agent of Consul: the health of one service, with blocking queries."""

import json

from stand_in import StandIn


def instance(port, address="127.0.0.1", tags=("grpc",), weight=1, status="passing"):
    return {"Node": {"Node": "one", "Address": "127.0.0.1", "Datacenter": "west"},
            "Service": {"ID": f"movies-{port}", "Service": "movies", "Tags": list(tags), "Address": address, "Port": port,
                        "Weights": {"Passing": weight, "Warning": 1}},
            "Checks": [{"Status": status}]}


class Consul(StandIn):
    """Answers with the instances that pass, when the index differs from that of the query or the wait is over."""

    def __init__(self, token=""):
        self.token = token
        self.index = 100
        self.instances = []
        self.registered = {}  # what agents have sent, by id
        self.passes = 0
        self.filtered = False  # says that the token may not read all instances
        super().__init__()

    def set(self, *instances, index=None):
        with self.changed:
            self.instances = list(instances)
            self.index = self.index + 1 if index is None else index
            self.changed.notify_all()

    def register(self, request):
        path, _, last = request.route.rpartition("/")
        identity = last.removeprefix("service:")
        with self.changed:
            if request.route == "/v1/agent/service/register":
                body = json.loads(request.sent)
                self.registered[body["ID"]] = body
            elif path == "/v1/agent/check/pass" and identity in self.registered:
                self.passes += 1
            elif path == "/v1/agent/service/deregister" and identity in self.registered:
                del self.registered[identity]
            else:
                return request.reply(b"unknown", status=404, kind="text/plain")
            self.changed.notify_all()
        return request.reply(b"")

    def wait_until(self, condition, limit_s):
        with self.changed:
            assert self.changed.wait_for(condition, limit_s), self.registered

    def answer(self, request):
        if request.headers.get("x-consul-token", "") != self.token:
            return request.reply(b"Permission denied", status=403, kind="text/plain")
        if request.command == "PUT":
            return self.register(request)
        if request.route != "/v1/health/service/movies" or request.query.get("passing") != "1":
            return request.reply(b"[]", X_Consul_Index="1")
        asked = int(request.query.get("index", "0"))
        with self.changed:
            if asked != 0:
                assert request.query["wait"] == "300s"
                self.changed.wait_for(lambda: self.index != asked or self.ended.is_set(), 60)
            tags = [value for name, value in request.parameters if name == "tag"]
            body = json.dumps([one for one in self.instances if one["Checks"][0]["Status"] == "passing"
                               and all(tag in one["Service"]["Tags"] for tag in tags)]).encode()
            index = self.index
        filtered = {"X_Consul_Results_Filtered_By_ACLs": "true"} if self.filtered else {}
        request.reply(body, X_Consul_Index=str(index), **filtered)
