"""A stand-in for the API server of Kubernetes: EndpointSlices with LIST and WATCH."""

import json

from stand_in import StandIn

NAME = "kubernetes.io/service-name="


def endpoint(address, ready=True, terminating=False, serving=None, zones=()):
    made = {"addresses": [address], "conditions": {"ready": ready, "terminating": terminating, "serving": serving}}
    if zones:
        made["hints"] = {"forZones": [{"name": zone} for zone in zones]}
    return made


class ApiServer(StandIn):
    """Keeps slices by their names, and the events of a bounded history."""

    def __init__(self, secure=None, token="a token"):
        self.token = token
        self.slices = {}
        self.version = 100
        self.events = []  # (version, line)
        self.oldest = 100  # the version that a watch may begin with
        self.watches = 0
        self.end_watches_at = None  # the version at which all watches end
        super().__init__(secure)

    def put(self, name, port, *endpoints, port_name="grpc"):
        self._change("MODIFIED" if name in self.slices else "ADDED", name, {
            "kind": "EndpointSlice", "apiVersion": "discovery.k8s.io/v1", "addressType": "IPv4", "endpoints": list(endpoints),
            "metadata": {"name": name, "labels": {"kubernetes.io/service-name": "movies"}},
            "ports": [{"name": port_name, "port": port, "protocol": "TCP"}]})

    def remove(self, name):
        self._change("DELETED", name, self.slices[name])

    def _change(self, kind, name, item):
        with self.changed:
            self.version += 1
            item["metadata"]["resourceVersion"] = str(self.version)
            if kind == "DELETED":
                del self.slices[name]
            else:
                self.slices[name] = item
            self.events.append((self.version, json.dumps({"type": kind, "object": item})))
            self.changed.notify_all()

    def bookmark(self):
        with self.changed:
            self.version += 10
            self.events.append((self.version, json.dumps({"type": "BOOKMARK", "object": {
                "kind": "EndpointSlice", "metadata": {"resourceVersion": str(self.version)}}})))
            self.changed.notify_all()

    def compact(self):
        """Forgets the history: watches of older versions get 410."""
        with self.changed:
            self.oldest = self.version
            self.events.clear()

    def end_watches(self):
        with self.changed:
            self.end_watches_at = self.version
            self.changed.notify_all()

    def answer(self, request):
        if request.headers["authorization"] != f"Bearer {self.token}":
            return request.reply(b'{"kind":"Status","code":401}', status=401)
        if request.route != "/apis/discovery.k8s.io/v1/namespaces/films/endpointslices" or request.query["labelSelector"] != NAME + "movies":
            return request.reply(b'{"kind":"Status","code":404}', status=404)
        return self._watch(request) if request.query.get("watch") == "1" else self._list(request)

    def _list(self, request):
        with self.changed:
            names = sorted(self.slices)
            begin, limit = int(request.query.get("continue", "0")), int(request.query["limit"])
            rest = str(begin + limit) if begin + limit < len(names) else ""
            answer = {"kind": "EndpointSliceList", "metadata": {"resourceVersion": str(self.version), "continue": rest},
                      "items": [self.slices[name] for name in names[begin:begin + limit]]}
        request.reply(json.dumps(answer).encode())

    def _watch(self, request):
        assert request.query["allowWatchBookmarks"] == "true" and int(request.query["timeoutSeconds"]) > 0
        at = int(request.query["resourceVersion"])
        with self.changed:
            self.watches += 1
            if at < self.oldest:
                return request.reply(b'{"kind":"Status","code":410,"reason":"Expired"}', status=410)
        request.begin_chunks()
        begun = at
        while not self.ended.is_set():
            with self.changed:
                self.changed.wait_for(lambda: self.ended.is_set() or self.version > at or self._ends(begun), 1)
                lines = [(version, line) for version, line in self.events if version > at]
                ends = self._ends(begun)
            for version, line in lines:
                data = line.encode() + b"\n"
                request.chunk(data[:30])  # events may come in any pieces
                request.chunk(data[30:])
                at = version
            if ends:
                break
        request.wfile.write(b"0\r\n\r\n")

    def _ends(self, begun):
        return self.end_watches_at is not None and begun <= self.end_watches_at
