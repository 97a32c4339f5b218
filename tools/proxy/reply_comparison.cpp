#include "tools/proxy/reply_comparison.hpp"

#include "tools/failure.hpp"
#include "tools/schema/unknown_name.hpp"

#include <google/protobuf/util/message_differencer.h>

#include <memory>
#include <utility>

namespace coracle::tools {

namespace pb = google::protobuf;

class reply_comparison::ignored_fields final : public pb::util::MessageDifferencer::IgnoreCriteria {
 public:
  explicit ignored_fields(reply_comparison& of) : of_(of) {}

  bool IsIgnored(const pb::Message&, const pb::Message&, const pb::FieldDescriptor* field,
                 const std::vector<pb::util::MessageDifferencer::SpecificField>&) override {
    bool ignored = false;
    for (const std::string& name : of_.ignored_)
      if (name == field->json_name() || ends_in_parts(std::string(field->full_name()), name)) {
        of_.unused_.erase(name);
        ignored = true;
      }
    return ignored;
  }

 private:
  reply_comparison& of_;
};

namespace {

// Newer versions of protobuf take the object by std::unique_ptr alone.
template <class Differencer, class Criteria>
void ignore(Differencer& compared, std::unique_ptr<Criteria> fields) {
  if constexpr (requires { compared.AddIgnoreCriteria(std::move(fields)); })
    compared.AddIgnoreCriteria(std::move(fields));
  else compared.AddIgnoreCriteria(fields.release());
}

}  // namespace

const pb::MethodDescriptor* reply_comparison::definition_of(const std::string& path) {
  if (in_bytes_.contains(path)) return nullptr;
  const pb::MethodDescriptor* found = nullptr;
  try {
    found = at_.types().find_method(path);
  } catch (const failure&) {
    // The server does not describe it.
  }
  if (!found) in_bytes_.insert(path);
  return found;
}

std::string reply_comparison::differences(const std::string& path, const std::string& recorded,
                                          const std::string& received) {
  const pb::MethodDescriptor* const method = definition_of(path);
  const std::string in_bytes = recorded == received ? std::string() : "its bytes differ\n";
  if (!method) return in_bytes;
  const auto before = at_.types().make(*method->output_type());
  const auto after = at_.types().make(*method->output_type());
  if (!before->ParseFromString(recorded) || !after->ParseFromString(received)) return in_bytes;
  pb::util::MessageDifferencer compared;
  ignore(compared, std::make_unique<ignored_fields>(*this));
  std::string text;
  compared.ReportDifferencesToString(&text);
  return compared.Compare(*before, *after) ? std::string() : text;
}

}  // namespace coracle::tools
