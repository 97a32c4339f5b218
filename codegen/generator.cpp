#include "codegen/generator.hpp"

#include "codegen/fake_text.hpp"
#include "codegen/header_text.hpp"
#include "codegen/model.hpp"
#include "codegen/module_text.hpp"
#include "codegen/options.hpp"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream.h>

#include <memory>

namespace coracle::codegen {

namespace {

void write(google::protobuf::compiler::GeneratorContext& context, const std::string& name,
           const std::string& text) {
  const std::unique_ptr<google::protobuf::io::ZeroCopyOutputStream> to(context.Open(name));
  google::protobuf::io::CodedOutputStream out(to.get());
  out.WriteRaw(text.data(), static_cast<int>(text.size()));
}

}  // namespace

bool generator::Generate(const google::protobuf::FileDescriptor* file, const std::string& parameter,
                         google::protobuf::compiler::GeneratorContext* context, std::string* error) const {
  const auto parameters = parse_options(parameter, *error);
  if (!parameters) return false;
  *error = clash_of(*file, *parameters);
  if (!error->empty()) return false;
  const file_model model = model_of(*file, *parameters);
  write(*context, model.header, header_text(model));
  if (parameters->fakes) write(*context, model.fake_header, fake_text(model));
  if (!model.module.empty()) write(*context, model.module_file, module_text(model));
  return true;
}

#if GOOGLE_PROTOBUF_VERSION >= 5027000
std::uint64_t generator::GetSupportedFeatures() const {
  return FEATURE_PROTO3_OPTIONAL | FEATURE_SUPPORTS_EDITIONS;
}

google::protobuf::Edition generator::GetMinimumEdition() const { return google::protobuf::EDITION_PROTO2; }

google::protobuf::Edition generator::GetMaximumEdition() const {
#if GOOGLE_PROTOBUF_VERSION >= 6030000
  return google::protobuf::compiler::ProtocMaximumEdition();
#else
  return google::protobuf::EDITION_2023;
#endif
}
#else
std::uint64_t generator::GetSupportedFeatures() const { return FEATURE_PROTO3_OPTIONAL; }
#endif

}  // namespace coracle::codegen
