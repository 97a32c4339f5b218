"""What a linked program consists of, by the linker's map of its input sections."""

import collections
import re

GROUPS_SHOWN = 14
SECTION = re.compile(r"^ (\.\S+|COMMON)?\s+0x([0-9a-f]+)\s+0x([0-9a-f]+)\s+(\S.*)$")
NAME_ALONE = re.compile(r"^ (\.\S+)$")
MEMBER = re.compile(r"([^/]+)\.(?:a|so[\d.]*)\((.*)\)$")
OURS = re.compile(r"N[KRO]*7coracle(\d+)(\w+)")  # in a mangled name: what follows our namespace, by its length
WITHOUT_BYTES = (".bss", ".tbss", "COMMON")
KINDS = {"code": (".text", ".init", ".fini", ".plt"), "constants": (".rodata", ".gcc_except_table", ".eh_frame"),
         "data": (".data", ".tdata", ".init_array", ".fini_array", ".got", ".data.rel.ro")}


def kind_of(section):
    return next((kind for kind, starts in KINDS.items() if section.startswith(starts)), None)


def room_of(section, rooms):
    """Empty for names that stand in our namespace itself, most of them for users; None for what is not ours."""
    found = OURS.search(section)
    if not found:
        return None
    name = found[2][:int(found[1])].removesuffix("_internal")
    return name if name in rooms else ""


def group_of(section, file, rooms):
    """The library of a section, and the room within Coracle's if the section's name tells it."""
    member = MEMBER.search(file)
    library = member[1] if member else "the program itself"
    if not library.startswith("libcoracle"):
        return library
    room = room_of(section, rooms)
    if room is not None:
        return f"{library}: {room or 'namespace coracle'}"
    return f"{library}: {member[2]}" if not member[2].startswith("unity") else f"{library}: std's templates and unnamed"


def sections(lines):
    """(section, bytes, file) of each input section that is in the program, with bytes in its file."""
    here, name = False, None
    for line in lines:
        here = here or line.startswith("Linker script and memory map")
        alone = NAME_ALONE.match(line.rstrip())
        if alone:
            name = alone[1]
            continue
        found = SECTION.match(line.rstrip())
        section, name = (found[1] or name if found else None), None
        if here and section and int(found[2], 16) and not section.startswith(WITHOUT_BYTES):
            yield section, int(found[3], 16), found[4]


def weights(lines, rooms):
    """Bytes by group and by kind of section."""
    of = collections.defaultdict(collections.Counter)
    for section, size, file in sections(lines):
        kind = kind_of(section)
        if kind:
            of[group_of(section, file, rooms)][kind] += size
    return {group: dict(kinds) for group, kinds in of.items()}


def table(of, without):
    """The heaviest groups, above those of a program `without` what is looked at."""
    def above(group, kind):
        return of[group].get(kind, 0) - without.get(group, {}).get(kind, 0)

    groups = sorted(of, key=lambda group: -sum(above(group, kind) for kind in KINDS))
    rest = groups[GROUPS_SHOWN:]
    yield f"| group | {', kB | '.join(KINDS)}, kB | all, kB |"
    yield "|---" * (len(KINDS) + 2) + "|"
    for name, those in (*((group, [group]) for group in groups[:GROUPS_SHOWN]), ("the rest", rest), ("all", groups)):
        cells = [sum(above(group, kind) for group in those) for kind in KINDS]
        yield f"| {name} | {' | '.join(f'{cell / 1e3:.0f}' for cell in (*cells, sum(cells)))} |"
