// A plugin that brings a protobuf of its own, in another version than the program's, and a class of its own
// for the same message. It takes and gives bytes.
#include "note.pb.h"

#include <cstddef>
#include <cstring>
#include <string>

// Appends 7 to the numbers of the note, and returns the bytes of the result; 0 if it does not fit, or is no
// note.
extern "C" __attribute__((visibility("default"))) std::size_t add_number(char* bytes, std::size_t size,
                                                                         std::size_t size_max) {
  two_versions::Note note;
  if (!note.ParseFromArray(bytes, static_cast<int>(size))) return 0;
  note.add_numbers(7);
  const std::string made = note.SerializeAsString();
  if (made.size() > size_max) return 0;
  std::memcpy(bytes, made.data(), made.size());
  return made.size();
}

extern "C" __attribute__((visibility("default"))) int version_of_plugin() { return GOOGLE_PROTOBUF_VERSION; }
