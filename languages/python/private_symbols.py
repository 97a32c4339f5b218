"""private_symbols.py FILE...: makes the unique symbols of shared libraries ordinary ones, which each copy of a library has for itself.

The linker of GNU has one instance of a unique symbol (STB_GNU_UNIQUE) for a process, by its name alone: libraries that are loaded
with RTLD_LOCAL share it, too. The protobuf of the wheel would use the mutex of another version of protobuf, such as that of
grpcio-tools, which has another layout."""

import sys

from elftools.elf.elffile import ELFFile

UNIQUE, GLOBAL = 10, 1  # bindings, the upper half of st_info
ST_INFO = 4             # its offset in an Elf64_Sym


def make_private(path):
    with open(path, "r+b") as file:
        table = ELFFile(file).get_section_by_name(".dynsym")
        infos = [table["sh_offset"] + i * table["sh_entsize"] + ST_INFO for i in range(table.num_symbols())]
        for at in infos:
            file.seek(at)
            info = file.read(1)[0]
            if info >> 4 == UNIQUE:
                file.seek(at)
                file.write(bytes([GLOBAL << 4 | info & 15]))


if __name__ == "__main__":
    for name in sys.argv[1:]:
        make_private(name)
