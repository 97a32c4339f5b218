// from_files: reads definitions from .proto files and from descriptor sets, for servers without reflection.
#pragma once

#include "tools/schema/schema.hpp"

#include <memory>
#include <string>
#include <vector>

namespace coracle::tools {

// `protos` are named relative to one of import_dirs, or by paths. `protosets` are files that `protoc
// --descriptor_set_out --include_imports` writes. Throws failure.
[[nodiscard]] std::unique_ptr<definitions> from_files(const std::vector<std::string>& protos,
                                                      const std::vector<std::string>& import_dirs,
                                                      const std::vector<std::string>& protosets);

}  // namespace coracle::tools
