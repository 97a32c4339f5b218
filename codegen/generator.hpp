// generator: protoc's entry point, which runs once for each .proto.
#pragma once

#include <google/protobuf/compiler/code_generator.h>

#include <cstdint>
#include <string>

namespace coracle::codegen {

class generator final : public google::protobuf::compiler::CodeGenerator {
 public:
  // Writes one header for every file, even for one without services, so that a build can name its outputs
  // without parsing the .proto.
  bool Generate(const google::protobuf::FileDescriptor* file, const std::string& parameter,
                google::protobuf::compiler::GeneratorContext* context, std::string* error) const override;

  // Without these, protoc rejects files that use proto3 `optional` or editions. Neither affects anything that
  // this generator reads.
  std::uint64_t GetSupportedFeatures() const override;
#if GOOGLE_PROTOBUF_VERSION >= 5027000  // the first version whose protoc takes files of editions
  google::protobuf::Edition GetMinimumEdition() const override;
  google::protobuf::Edition GetMaximumEdition() const override;
#endif
};

}  // namespace coracle::codegen
