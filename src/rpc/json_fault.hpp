// json_fault: finds the field for which protobuf's mapping refuses a JSON text. protobuf reports it in words
// that differ between its versions, some with the field, some with a position, some with neither.
#pragma once

#include "coracle/rpc/impl/json_check.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace coracle::rpc {

// Whether protobuf's mapping reads `text` into an empty message of the type of `prototype`.
using json_fits = bool (*)(const google::protobuf::Message& prototype, const std::string& text,
                           bool ignore_unknown_fields);

struct json_search {
  json_fault found;
  std::size_t bytes = 0;  // what the search has read
};

// Finds what is wrong with a text that check_json() accepts and `fits` does not. It asks `fits` about ever
// smaller parts of the text, of at most a few times its length together, and its memory has the same limit: a
// text that nests its fault deeply, or among very many values, has the place described that was reached.
[[nodiscard]] json_search search_json_fault(const google::protobuf::Message& prototype, std::string_view text,
                                            bool ignore_unknown_fields, json_fits fits);

}  // namespace coracle::rpc
