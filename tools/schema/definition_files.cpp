#include "tools/schema/definition_files.hpp"

#include "tools/failure.hpp"
#include "tools/files/new_files.hpp"
#include "tools/terminal_text.hpp"

#include <google/protobuf/descriptor.pb.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

namespace coracle::tools {

namespace {

namespace pb = google::protobuf;

void add(const pb::FileDescriptor& file, std::set<const pb::FileDescriptor*>& known,
         std::vector<const pb::FileDescriptor*>& to) {
  if (!known.insert(&file).second) return;
  for (int i = 0; i < file.dependency_count(); ++i) add(*file.dependency(i), known, to);
  to.push_back(&file);
}

// The name of a file below a folder: no part of it may lead out of the folder, or hide something on a
// terminal.
bool is_safe(const std::string& name) {
  if (name.empty() || name.find('\\') != name.npos || terminal_line(name) != name) return false;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") return false;
    begin = end + 1;
  }
  return true;
}

}  // namespace

std::vector<const pb::FileDescriptor*> with_imports(const std::vector<const pb::FileDescriptor*>& files) {
  std::vector<const pb::FileDescriptor*> all;
  std::set<const pb::FileDescriptor*> known;
  for (const pb::FileDescriptor* const file : files) add(*file, known, all);
  return all;
}

void write_descriptor_set(const std::vector<const pb::FileDescriptor*>& files, const std::string& path) {
  pb::FileDescriptorSet set;
  for (const pb::FileDescriptor* const file : files) {
    pb::FileDescriptorProto& one = *set.add_file();
    file->CopyTo(&one);
    file->CopyJsonNameTo(&one);
    file->CopySourceCodeInfoTo(&one);
  }
  errno = 0;
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  const bool whole = out && set.SerializeToOstream(&out) && out.flush();
  if (!whole) throw failure("cannot write " + path + ": " + std::strerror(errno != 0 ? errno : EIO));
}

void write_proto_files(const std::vector<const pb::FileDescriptor*>& files, const std::string& folder) {
  const std::filesystem::path below(folder);
  new_files written;
  pb::DebugStringOptions with_comments;
  with_comments.include_comments = true;
  for (const pb::FileDescriptor* const file : files) {
    const std::string name(file->name());
    if (name.starts_with("google/protobuf/")) continue;
    if (!is_safe(name))
      throw failure("the definitions name a file '" + terminal_line(name) +
                    "', which would not be written below " + folder + "; --protoset-out takes any name");
    const std::filesystem::path path = below / name;
    written.folder(path.parent_path());
    written.write(path, file->DebugStringWithOptions(with_comments));
  }
  written.keep();
}

}  // namespace coracle::tools
