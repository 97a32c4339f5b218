// wire_shape: checks whether serialized messages have the form in which protobuf itself writes them.
#pragma once

#include <google/protobuf/descriptor.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace coracle::tools {

// protobuf's JSON mapping converts the fields of a message as they are encoded. It would also print what a
// parser would merge, replace or drop (a duplicate field, two members of a oneof, a zero that proto3 omits).
// This class finds such messages, which are rare, in a fraction of the time that a parser takes. Use it on
// one thread at a time.
class wire_shape {
 public:
  // The descriptor must outlive this object.
  explicit wire_shape(const google::protobuf::Descriptor& type);
  wire_shape(const wire_shape&) = delete;
  wire_shape& operator=(const wire_shape&) = delete;
  ~wire_shape();

  // True: for these bytes the JSON mapping prints the same as for the message that a parser makes of them, or
  // fails. False: this is not known, which is always the result for maps and messages with required fields.
  [[nodiscard]] bool is_usual(std::string_view bytes) { return is_usual(bytes, 0); }

 private:
  struct field;
  static constexpr int depth_max = 32;
  [[nodiscard]] bool is_usual(std::string_view bytes, int depth);
  [[nodiscard]] bool is_usual(field& known, std::string_view value, int depth);

  std::vector<field> fields_;  // by number
  bool always_unusual_ = false;
};

}  // namespace coracle::tools
