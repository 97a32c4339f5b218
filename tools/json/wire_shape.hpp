// wire_shape: whether serialized messages of a type look as protobuf itself would have written them.
#pragma once

#include <google/protobuf/descriptor.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace coracle::tools {

// protobuf's JSON mapping converts a message's fields as they stand in its bytes. What a parser would merge, replace or drop
// (a field that stands there twice, two members of a oneof, a zero that proto3 leaves out) would be printed as it stands. This
// finds such messages, which are rare, in a fraction of the time that a parser takes. Not for several threads at once.
class wire_shape {
 public:
  // The descriptor must outlive it.
  explicit wire_shape(const google::protobuf::Descriptor& type);
  wire_shape(const wire_shape&) = delete;
  wire_shape& operator=(const wire_shape&) = delete;
  ~wire_shape();

  // True: the JSON mapping prints these bytes as it prints the message that a parser makes of them, or fails. False: that is
  // not known, as always for maps and messages with required fields.
  [[nodiscard]] bool is_usual(std::string_view bytes) { return is_usual(bytes, 0); }

 private:
  struct field;
  static constexpr int depth_max = 32;
  [[nodiscard]] bool is_usual(std::string_view bytes, int depth);
  [[nodiscard]] bool is_usual(field& known, std::string_view value, int depth);

  std::vector<field> fields_;  // by their numbers
  bool always_unusual_ = false;
};

}  // namespace coracle::tools
