"""Our HPACK against Python's: what either writes the other reads, over many connections of generated header lists."""

import random
import subprocess

import pytest

from programs import own

pytest.importorskip("hpack", reason="./dev peers installs it")

from hpack import Decoder, Encoder, HeaderTuple, NeverIndexedHeaderTuple  # noqa: E402

CONNECTIONS = 60
LISTS_EACH = 40
SEED = 20260101
TABLE_BYTES = (0, 64, 200, 1000, 4096, 16384)
NAMES = (b":path", b":status", b":authority", b"content-type", b"grpc-status", b"grpc-message", b"te", b"user-agent", b"x-trace",
         b"authorization", b"cookie", b"grpc-timeout", b"accept-encoding", b"date")
VALUES = (b"", b"/", b"200", b"/movie.MovieService/AddMovie", b"application/grpc", b"trailers", b"gzip, deflate", b"1S", b"0")


class Ours:
    """hpack_tool: a connection's encoder and decoder."""

    def __init__(self):
        self.process = subprocess.Popen([own("hpack_tool")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def say(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")

    def ask(self, *words):
        self.say(*words)
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, f"hpack_tool ended on {words[0]}"
        return line.strip()

    def encode(self, fields):
        words = (f"{policy}:{name.hex()}:{value.hex()}" for policy, name, value in fields)
        return bytes.fromhex(self.ask("encode", *words))

    def decode(self, block):
        said = self.ask("decode", block.hex())
        assert not said.startswith("error"), f"we do not read {block.hex()}: {said}"
        fields = (word.split(":") for word in said.split())
        return [(flag == "n", bytes.fromhex(name), bytes.fromhex(value)) for flag, name, value in fields]

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(10) == 0, "hpack_tool's exit code"


def field(dice):
    """(how to index, name, value), with names and values that come again and such that do not."""
    name = dice.choice(NAMES) if dice.random() < 0.7 else b"x-" + bytes(dice.choices(b"abcdefgh-_.0123", k=dice.randrange(1, 40)))
    if dice.random() < 0.5:
        value = dice.choice(VALUES)
    elif dice.random() < 0.5:
        value = bytes(dice.choices(range(32, 127), k=dice.randrange(0, 90)))
    else:
        value = dice.randbytes(dice.choice((1, 7, 60, 126, 127, 128, 300, 5000)))
    return dice.choices("ipn", (8, 2, 1))[0], name, value


def lists(dice):
    return ([field(dice) for _ in range(dice.randrange(0, 14))] for _ in range(LISTS_EACH))


def read_by(decoder, block):
    return [(not one.indexable, bytes(one[0]), bytes(one[1])) for one in decoder.decode(block, raw=True)]


def test_they_read_what_we_write():
    dice = random.Random(SEED)
    ours = Ours()
    for connection in range(CONNECTIONS):
        theirs = Decoder(max_header_list_size=1 << 24)
        ours.say("new")
        for fields in lists(dice):
            if dice.random() < 0.1:  # their SETTINGS allow another size
                size = dice.choice(TABLE_BYTES)
                theirs.max_allowed_table_size = size
                ours.say("table", size)
            assert read_by(theirs, ours.encode(fields)) == [(policy == "n", name, value) for policy, name, value in fields], \
                f"connection {connection}'s list"
    ours.end()


def test_we_read_what_they_write():
    dice = random.Random(SEED + 1)
    ours = Ours()
    for connection in range(CONNECTIONS):
        theirs, witness = Encoder(), Decoder(max_header_list_size=1 << 24)
        ours.say("new")
        for fields in lists(dice):
            if dice.random() < 0.1:  # our SETTINGS allow another size, which they take
                size = dice.choice(TABLE_BYTES)
                ours.say("table", size)
                theirs.header_table_size = witness.max_allowed_table_size = size
            kinds = {"i": HeaderTuple, "p": HeaderTuple, "n": NeverIndexedHeaderTuple}
            block = theirs.encode([kinds[policy](name, value) for policy, name, value in fields], huffman=dice.random() < 0.7)
            read = ours.decode(block)
            # They index a field that they were told never to, when the table has it.
            assert read == read_by(witness, block), f"connection {connection}'s list, by us and by them"
            assert [one[1:] for one in read] == [one[1:] for one in fields], f"connection {connection}'s list"
    ours.end()


def test_we_refuse_what_they_refuse():
    """A block that ends early, and one whose index leads nowhere: a difference would hide an attack from one of us."""
    block = Encoder().encode([HeaderTuple(b"x-name", b"value")])
    for wrong in (block[:-1], block[:3], b"\xff\xff\xff\x03", b"\x80", b"\x3f\xff\xff\x7f"):
        try:
            Decoder().decode(wrong)
        except Exception:  # noqa: BLE001 whatever it calls the error
            pass
        else:
            pytest.fail(f"Python's hpack reads {wrong.hex()}")
        ours = Ours()
        assert ours.ask("decode", wrong.hex()).startswith("error"), f"we read {wrong.hex()}"
        ours.end()
