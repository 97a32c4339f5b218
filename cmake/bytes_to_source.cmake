# cmake -DFROM=file -DTO=source -P bytes_to_source.cmake: the bytes of a file as the inside of a C++ array.
file(READ ${FROM} bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "(................................................................................)" "\\1\n"
  bytes "${bytes}")
file(WRITE ${TO} "${bytes}\n")
