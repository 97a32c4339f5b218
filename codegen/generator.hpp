// generator: what protoc drives, a .proto at a time.
#pragma once

#include <google/protobuf/compiler/code_generator.h>

#include <cstdint>
#include <string>

namespace coracle::codegen {

class generator final : public google::protobuf::compiler::CodeGenerator {
 public:
  // Writes one header for every file, also for one without services: a build can name its outputs without
  // having read the .proto.
  bool Generate(const google::protobuf::FileDescriptor* file, const std::string& parameter,
                google::protobuf::compiler::GeneratorContext* context, std::string* error) const override;

  // Without these protoc refuses files that use proto3 `optional` or editions. Neither changes anything that
  // this generator looks at.
  std::uint64_t GetSupportedFeatures() const override;
#if GOOGLE_PROTOBUF_VERSION >= 6030000  // the first version that says which editions its protoc knows
  google::protobuf::Edition GetMinimumEdition() const override;
  google::protobuf::Edition GetMaximumEdition() const override;
#endif
};

}  // namespace coracle::codegen
