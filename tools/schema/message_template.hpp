// message_template: a message with all its fields, from which people write a real one.
#pragma once

#include "tools/schema/schema.hpp"

#include <string>
#include <vector>

namespace coracle::tools {

struct message_template {
  std::string json;  // `coracle call -d` accepts it unchanged
  std::vector<std::string> notes;  // what the text cannot show: which fields exclude each other
};

// Every field has the default of its type; a repeated field and a map have one element. Of the fields of a
// oneof the first is present. A message that contains itself is left out the second time. Throws failure.
[[nodiscard]] message_template template_of(schema& types, const google::protobuf::Descriptor& type);

}  // namespace coracle::tools
