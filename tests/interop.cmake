# hpack_tool, for tests/interop/hpack_cross_check.py. It links objects: HPACK is private.

add_executable(hpack_tool interop/hpack_tool.cpp)
coracle_rooms_with_all_below(linked hpack)
list(TRANSFORM linked PREPEND coracle_)
target_link_libraries(hpack_tool PRIVATE ${linked} coracle_usage coracle_build Threads::Threads)
