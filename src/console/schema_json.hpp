// schema_json(): the definitions as the page reads them, for its tree, its forms and its checks.
#pragma once

#include <string>

namespace coracle::console {

class schema;

// {"services": [{"name", "comment", "methods": [{"name", "path", "comment", "deprecated", "clientStreaming",
//   "serverStreaming", "input", "output"}]}],
//  "messages": {NAME: {"comment", "fields": [{"name", "json", "type", "typeName"?, "repeated"?, "mapKey"?,
//   "oneof"?, "optional"?, "required"?, "deprecated"?, "comment"?}]}},
//  "enums": {NAME: {"comment", "values": [{"name", "number", "comment"?}]}},
//  "errors": TEXT}
// with the messages and enums that the methods use. A map has the type of its values.
[[nodiscard]] std::string schema_json(const schema& types);

}  // namespace coracle::console
