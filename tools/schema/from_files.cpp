#include "tools/schema/from_files.hpp"

#include "tools/failure.hpp"

#include "google/api/annotations.pb.h"
#include "google/api/http.pb.h"
#include "google/api/httpbody.pb.h"

#include <google/protobuf/any.pb.h>
#include <google/protobuf/compiler/importer.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/duration.pb.h>
#include <google/protobuf/empty.pb.h>
#include <google/protobuf/field_mask.pb.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/timestamp.pb.h>
#include <google/protobuf/wrappers.pb.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <utility>

namespace coracle::tools {

namespace {

namespace pb = google::protobuf;

// protobuf's own types and google.api.http are available without their files: they are linked into this
// program. In a static program, only the types that are referenced are linked.
const pb::DescriptorPool& own_types() {
  for (const auto* type :
       {pb::Any::descriptor(), pb::Duration::descriptor(), pb::Empty::descriptor(),
        pb::FieldMask::descriptor(), pb::Struct::descriptor(), pb::Timestamp::descriptor(),
        pb::StringValue::descriptor(), google::api::Http::descriptor(), google::api::HttpBody::descriptor()})
    static_cast<void>(type);
  static_cast<void>(google::api::http.number());
  return *pb::DescriptorPool::generated_pool();
}

// Where .proto files are read from: folders, or texts in memory.
class file_definitions : public definitions, private pb::compiler::MultiFileErrorCollector {
 public:
  explicit file_definitions(pb::compiler::SourceTree& tree) : own_(own_types()), sources_(&tree, &own_) {
    sources_.RecordErrorsTo(this);
    all_.emplace(std::vector<pb::DescriptorDatabase*>{&sets_, &sources_});
  }

  std::vector<std::string> services() override {
    std::vector<std::string> names;
    pb::DescriptorPool pool(&*all_);
    for (const std::string& one : first_) {
      const pb::FileDescriptor* const file = pool.FindFileByName(one);
      for (int i = 0; file && i < file->service_count(); ++i)
        names.push_back(std::string(file->service(i)->full_name()));
    }
    return names;
  }
  pb::DescriptorDatabase& files() override { return *all_; }
  std::vector<std::string> first() override { return first_; }
  std::string errors() const override { return errors_; }

 protected:
  void add_first(std::string name) { first_.push_back(std::move(name)); }

  void add_set(std::istream&& in, const std::string& name) {
    pb::FileDescriptorSet set;
    if (!in || !set.ParseFromIstream(&in))
      throw failure(name +
                    " is not a descriptor set; protoc --include_imports --descriptor_set_out=FILE makes one");
    for (pb::FileDescriptorProto& file : *set.mutable_file()) {
      forget_usual_json_names(file);
      sets_.Add(file);
      first_.push_back(file.name());
    }
  }

 private:
  // pb::compiler::MultiFileErrorCollector
  // protobuf calls the first before its version 22, and the second from then on: neither can be marked
  // `override`. NOLINTBEGIN(modernize-use-override)
  void AddError(const std::string& file, int line, int column, const std::string& reason) {
    RecordError(file, line, column, reason);
  }
  void RecordError(std::string_view file, int line, int column, std::string_view reason) {
    errors_.append("\n  ").append(file);
    if (line >= 0) errors_ += ":" + std::to_string(line + 1) + ":" + std::to_string(column + 1);
    errors_.append(": ").append(reason);
  }
  // NOLINTEND(modernize-use-override)

  pb::DescriptorPoolDatabase own_;
  pb::compiler::SourceTreeDescriptorDatabase sources_;
  pb::SimpleDescriptorDatabase sets_;
  std::optional<pb::MergedDescriptorDatabase> all_;
  std::vector<std::string> first_;
  std::string errors_;
};

// A base of the classes below, so that the tree is made before what reads it.
template <class Tree>
struct holds_tree {
  Tree tree;
};

class disk_definitions final : holds_tree<pb::compiler::DiskSourceTree>, public file_definitions {
 public:
  disk_definitions(const std::vector<std::string>& protos, const std::vector<std::string>& import_dirs,
                   const std::vector<std::string>& protosets)
      : file_definitions(tree) {
    for (const std::string& dir : import_dirs) tree.MapPath("", dir);
    if (import_dirs.empty()) tree.MapPath("", ".");
    for (const std::string& path : protos) add_first(name_of(path));
    for (const std::string& path : protosets) add_set(std::ifstream(path, std::ios::binary), path);
  }

 private:
  // A path outside the import directories is used as it is, and its folder is added for its imports.
  std::string name_of(const std::string& path) {
    std::string found;
    if (tree.VirtualFileToDiskFile(path, &found)) return path;
    std::string name, shadowing;
    if (tree.DiskFileToVirtualFile(path, &name, &shadowing) == pb::compiler::DiskSourceTree::SUCCESS)
      return name;
    const std::filesystem::path file(path);
    if (!std::filesystem::exists(file))
      throw failure("there is no file " + path + ", also not in an -I directory");
    tree.MapPath("", file.has_parent_path() ? file.parent_path().string() : ".");
    return file.filename().string();
  }
};

// A std::string in older versions of protobuf, a view in newer ones.
template <class Result, class Name>
Name name_taken_by(Result (pb::compiler::SourceTree::*)(Name));
using opened_name = decltype(name_taken_by(&pb::compiler::SourceTree::Open));

class text_tree final : public pb::compiler::SourceTree {
 public:
  pb::io::ZeroCopyInputStream* Open(opened_name name) override {
    const auto found = texts.find(std::string(name));
    if (found == texts.end()) return nullptr;
    return new pb::io::ArrayInputStream(found->second.data(), static_cast<int>(found->second.size()));
  }
  std::string GetLastErrorMessage() override { return "the file is not among those that were given"; }

  std::map<std::string, std::string> texts;
};

// Gives a file the name by which another one imports it, if it has only the end of that name.
void name_as_imported(std::map<std::string, std::string>& texts) {
  static const std::regex import("(^|[\n;])[ \t]*import[ \t]+((public|weak)[ \t]+)?\"([^\"\n]+)\"");
  std::set<std::string> imported;
  for (const auto& [name, text] : texts)
    for (std::sregex_iterator at(text.begin(), text.end(), import), end; at != end; ++at)
      imported.insert((*at)[4].str());
  for (const std::string& path : imported) {
    if (texts.count(path) > 0) continue;
    std::vector<std::string> ends;
    for (const auto& [name, text] : texts)
      if (path.ends_with("/" + name)) ends.push_back(name);
    if (ends.size() != 1) continue;
    auto node = texts.extract(ends.front());
    node.key() = path;
    texts.insert(std::move(node));
  }
}

class text_definitions final : holds_tree<text_tree>, public file_definitions {
 public:
  text_definitions(std::map<std::string, std::string> protos, const std::vector<std::string>& protosets)
      : file_definitions(tree) {
    name_as_imported(protos);
    tree.texts = std::move(protos);
    for (const auto& [name, text] : tree.texts) add_first(name);
    for (const std::string& bytes : protosets) add_set(std::istringstream(bytes), "a file");
  }
};

}  // namespace

std::unique_ptr<definitions> from_files(const std::vector<std::string>& protos,
                                        const std::vector<std::string>& import_dirs,
                                        const std::vector<std::string>& protosets) {
  return std::make_unique<disk_definitions>(protos, import_dirs, protosets);
}

std::unique_ptr<definitions> from_texts(std::map<std::string, std::string> protos,
                                        const std::vector<std::string>& protosets) {
  return std::make_unique<text_definitions>(std::move(protos), protosets);
}

}  // namespace coracle::tools
