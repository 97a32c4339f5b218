"""A DNS server on 127.0.0.1, over UDP, whose records a test may change."""

import socket
import struct
import threading

TYPES = {"A": 1, "TXT": 16, "SRV": 33}


def wire_name(name):
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"


def data_of(kind, value):
    if kind == "A":
        return socket.inet_aton(value)
    if kind == "TXT":
        parts = [value[i:i + 200].encode() for i in range(0, len(value), 200)]
        return b"".join(bytes([len(part)]) + part for part in parts)
    priority, weight, port, host = value
    return struct.pack("!HHH", priority, weight, port) + wire_name(host)


class NameServer:
    """`records[(name, kind)]` is a list of values: an address, a text, or (priority, weight, port, host)."""

    def __init__(self):
        self.records = {}
        self.asked = []
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.socket.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                request, peer = self.socket.recvfrom(4096)
            except OSError:
                return  # closed
            end = request.index(b"\0", 12)
            labels, at = [], 12
            while request[at]:
                labels.append(request[at + 1:at + 1 + request[at]].decode())
                at += 1 + request[at]
            name = ".".join(labels)
            number = struct.unpack("!H", request[end + 1:end + 3])[0]
            kind = next((k for k, n in TYPES.items() if n == number), None)
            self.asked.append((name, kind))
            values = self.records.get((name, kind), [])
            known = any(one == name for one, _ in self.records)
            answers = b""
            for value in values:
                data = data_of(kind, value)
                answers += b"\xc0\x0c" + struct.pack("!HHIH", number, 1, 0, len(data)) + data
            flags = 0x8580 if known else 0x8583
            header = request[:2] + struct.pack("!HHHHH", flags, 1, len(values), 0, 0)
            self.socket.sendto(header + request[12:end + 5] + answers, peer)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()
