// from_files, from_texts: read definitions from .proto files and from descriptor sets, for servers without
// reflection.
#pragma once

#include "tools/schema/schema.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace coracle::tools {

// `protos` are named relative to one of import_dirs, or by paths. `protosets` are files that `protoc
// --descriptor_set_out --include_imports` writes. Throws failure.
[[nodiscard]] std::unique_ptr<definitions> from_files(const std::vector<std::string>& protos,
                                                      const std::vector<std::string>& import_dirs,
                                                      const std::vector<std::string>& protosets);

// The same for files that are in memory. The key of `protos` is the path of a file below some folder. A file
// that is imported by a longer path than it is named, as when files of several folders were chosen one by
// one, is found by the end of that path, if only one has it. `protosets` are the bytes of descriptor sets.
[[nodiscard]] std::unique_ptr<definitions> from_texts(std::map<std::string, std::string> protos,
                                                      const std::vector<std::string>& protosets);

}  // namespace coracle::tools
