"""./dev bench peers --scenarios weight: what a program consists of, by the linker's map."""

from harness import link_map

ROOMS = {"client", "server", "http", "http2"}
MAP = """Archive member included to satisfy reference by file (symbol)

 .text          0x0000000000000000      0x999 before/the/map.o

Linker script and memory map

 .text          0x0000000000401000       0x64 main.o
 .text._ZN7coracle6client12unary_holderC2Ev
                0x0000000000402000      0x3e8 lib/libcoracle.a(unity_0_cxx.cxx.o)
 .rodata._ZN7coracle15server_internal5tableE
                0x0000000000403000      0x1f4 lib/libcoracle.a(unity_0_cxx.cxx.o)
 .text._ZN7coracle6server6listenEv
                0x0000000000404000      0x064 lib/libcoracle.a(unity_0_cxx.cxx.o)
 .text._ZNK7coracle5http26streamEv
                0x0000000000404100      0x040 lib/libcoracle.a(unity_0_cxx.cxx.o)
 .text          0x0000000000405000      0x7d0 lib/libcoracle.a(zstd_coder.cpp.o)
 .data          0x0000000000406000       0x10 /usr/lib/libz.a(deflate.o)
 .bss           0x0000000000407000     0x4000 /usr/lib/libz.a(deflate.o)
 .debug_info    0x0000000000000000     0x4000 /usr/lib/libz.a(deflate.o)
"""


def weights():
    return link_map.weights(MAP.splitlines(), ROOMS)


def test_sections_count_for_the_room_that_their_name_tells():
    assert weights()["libcoracle: client"] == {"code": 0x3e8}
    assert weights()["libcoracle: server"] == {"constants": 0x1f4, "code": 0x64}
    assert weights()["libcoracle: http2"] == {"code": 0x40}


def test_sections_without_a_room_count_for_their_file_or_library():
    assert weights()["libcoracle: zstd_coder.cpp.o"] == {"code": 0x7d0}
    assert weights()["libz"] == {"data": 0x10}
    assert weights()["the program itself"] == {"code": 0x64}


def test_the_table_shows_what_is_above_another_program_heaviest_first():
    lines = list(link_map.table(weights(), {"the program itself": {"code": 0x64}}))
    assert lines[2] == "| libcoracle: zstd_coder.cpp.o | 2 | 0 | 0 | 2 |"
    assert lines[-1] == "| all | 3 | 0 | 0 | 4 |"
