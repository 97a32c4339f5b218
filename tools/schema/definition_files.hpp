// definition_files: writes definitions, such as those that a server describes, into files.
#pragma once

#include <google/protobuf/descriptor.h>

#include <string>
#include <vector>

namespace coracle::tools {

// The files and what they import, each once, imports before their importers.
[[nodiscard]] std::vector<const google::protobuf::FileDescriptor*> with_imports(
    const std::vector<const google::protobuf::FileDescriptor*>& files);

// Writes a FileDescriptorSet, as protoc does; replaces an existing file. Throws failure.
void write_descriptor_set(const std::vector<const google::protobuf::FileDescriptor*>& files,
                          const std::string& path);

// Writes .proto files below a folder, in the folders that their names have. protobuf's own files are left
// out: protoc has them. Throws failure if one of the files exists, or if a name leads out of the folder: a
// server chooses the names.
void write_proto_files(const std::vector<const google::protobuf::FileDescriptor*>& files,
                       const std::string& folder);

}  // namespace coracle::tools
