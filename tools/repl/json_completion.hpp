// json_completion: what may follow in the JSON of a message that is being typed.
#pragma once

#include <google/protobuf/descriptor.h>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::tools {

struct json_completion {
  std::size_t begin;  // where the unfinished token begins in the text; its end if there is none
  std::vector<std::string> tokens;  // whole tokens that may stand there and begin with the unfinished one
};

// Finds the message of a google.protobuf.Any by its full name; null if it is not known.
using message_finder = std::function<const google::protobuf::Descriptor*(std::string_view name)>;

// Completes keys, with the names that are still free at the place of the cursor: a set field and the other
// fields of its oneof are not offered again, unless it is a map's key. Completes the values of enums and
// bools, and the character that begins any other value. `text` has the JSON values of `type` before the
// cursor, complete or not. Offers nothing after a mistake.
[[nodiscard]] json_completion complete_json(const google::protobuf::Descriptor& type, std::string_view text,
                                            const message_finder& find);

}  // namespace coracle::tools
