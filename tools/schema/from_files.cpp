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
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/timestamp.pb.h>
#include <google/protobuf/wrappers.pb.h>

#include <filesystem>
#include <fstream>
#include <optional>
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

class file_definitions final : public definitions, private pb::compiler::MultiFileErrorCollector {
 public:
  file_definitions(const std::vector<std::string>& protos, const std::vector<std::string>& import_dirs,
                   const std::vector<std::string>& protosets)
      : own_(own_types()), sources_(&tree_, &own_) {
    sources_.RecordErrorsTo(this);
    for (const std::string& dir : import_dirs) tree_.MapPath("", dir);
    if (import_dirs.empty()) tree_.MapPath("", ".");
    for (const std::string& path : protos) first_.push_back(name_of(path));
    for (const std::string& path : protosets) add_set(path);
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

 private:
  // A path outside the import directories is used as it is, and its folder is added for its imports.
  std::string name_of(const std::string& path) {
    std::string found;
    if (tree_.VirtualFileToDiskFile(path, &found)) return path;
    std::string name, shadowing;
    if (tree_.DiskFileToVirtualFile(path, &name, &shadowing) == pb::compiler::DiskSourceTree::SUCCESS)
      return name;
    const std::filesystem::path file(path);
    if (!std::filesystem::exists(file))
      throw failure("there is no file " + path + ", also not in an -I directory");
    tree_.MapPath("", file.has_parent_path() ? file.parent_path().string() : ".");
    return file.filename().string();
  }

  void add_set(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    pb::FileDescriptorSet set;
    if (!in || !set.ParseFromIstream(&in))
      throw failure(path +
                    " is not a descriptor set; protoc --include_imports --descriptor_set_out=FILE makes one");
    for (pb::FileDescriptorProto& file : *set.mutable_file()) {
      forget_usual_json_names(file);
      sets_.Add(file);
      first_.push_back(file.name());
    }
  }

  // pb::compiler::MultiFileErrorCollector
  void AddError(const std::string& file, int line, int column, const std::string& reason) override {
    errors_ += "\n  " + file;
    if (line >= 0) errors_ += ":" + std::to_string(line + 1) + ":" + std::to_string(column + 1);
    errors_ += ": " + reason;
  }

  pb::compiler::DiskSourceTree tree_;
  pb::DescriptorPoolDatabase own_;
  pb::compiler::SourceTreeDescriptorDatabase sources_;
  pb::SimpleDescriptorDatabase sets_;
  std::optional<pb::MergedDescriptorDatabase> all_;
  std::vector<std::string> first_;
  std::string errors_;
};

}  // namespace

std::unique_ptr<definitions> from_files(const std::vector<std::string>& protos,
                                        const std::vector<std::string>& import_dirs,
                                        const std::vector<std::string>& protosets) {
  return std::make_unique<file_definitions>(protos, import_dirs, protosets);
}

}  // namespace coracle::tools
