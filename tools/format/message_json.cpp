// message_json: the only file that uses protobuf's JSON mapping, whose headers differ between versions.
#include "tools/format/message_json.hpp"

#include "tools/failure.hpp"
#include "tools/format/invalid_message.hpp"
#include "tools/format/unknown_anys.hpp"
#include "tools/format/wire_shape.hpp"
#include "tools/schema/schema.hpp"
#include "tools/terminal_text.hpp"

#include <coracle/rpc/impl/json_check.hpp>

#include <google/protobuf/message.h>
#include <google/protobuf/type.pb.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/type_resolver.h>
#include <google/protobuf/util/type_resolver_util.h>

#include <algorithm>
#include <map>
#include <utility>

namespace coracle::tools {

namespace pb = google::protobuf;
namespace json = google::protobuf::util;

namespace {

const std::string url_prefix = "type.googleapis.com";
const std::string batch_url = url_prefix + "/coracle.Batch";
constexpr std::string_view batch_begin = "{\"items\":[";
constexpr std::string_view batch_end = "]}";

// The message without the status code, which would be mistaken for that of a server.
template <class Status>
std::string reason(const Status& result) {
  const std::string text(result.message().data(), result.message().size());
  return text.substr(std::min(text.find_first_not_of(": "), text.size()));
}

void add_field(pb::Type& to, pb::Field::Kind kind, int number, const char* name) {
  pb::Field& field = *to.add_fields();
  field.set_kind(kind);
  field.set_cardinality(pb::Field::CARDINALITY_OPTIONAL);
  field.set_number(number);
  field.set_name(name);
  field.set_json_name(name);
}

// protobuf indents by one space. Line ends in strings are escaped, so that each line begins with its
// indentation.
std::string indented_by_two(const std::string& text) {
  std::string all;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    const std::size_t spaces = std::min(text.find_first_not_of(' ', begin), end) - begin;
    all.append(spaces, ' ').append(text, begin, end - begin);
    begin = end;
  }
  return all;
}

// A server would refuse what protobuf's parser alone takes.
void check(std::string_view text, const pb::Descriptor& type) {
  const status broken = rpc::check_json_text(text, type);
  if (broken.ok()) return;
  throw broken_json(text, type, std::string(broken.message()));
}

// Newer versions of protobuf have renamed the option.
template <class Options>
void write_absent_fields(Options& options, bool write) {
  if constexpr (requires { options.always_print_primitive_fields; })
    options.always_print_primitive_fields = write;
  else options.always_print_fields_with_no_presence = write;
}

json::JsonPrintOptions print_options(const message_json::options& chosen) {
  json::JsonPrintOptions options;
  write_absent_fields(options, chosen.write_absent_fields);
  return options;
}

json::JsonParseOptions parse_options(const message_json::options& chosen) {
  json::JsonParseOptions options;
  options.ignore_unknown_fields = chosen.ignore_unknown_fields;
  return options;
}

// Replaces the commas between the values of an array, given without its brackets, by line ends; returns the
// number of values.
std::size_t split_into_lines(char* begin, const char* end) {
  std::size_t count = 1;
  int depth = 0;
  for (char* at = begin; at < end; ++at) switch (*at) {
      case '"':
        for (++at; at < end && *at != '"'; ++at) at += *at == '\\';
        break;
      case '{':
      case '[': ++depth; break;
      case '}':
      case ']': --depth; break;
      case ',':
        if (depth == 0) *at = '\n', ++count;
        break;
      default: break;
    }
  return count;
}

}  // namespace

// Resolves types for the JSON mapping. The mapping copies what it gets on every call; this class caches what
// it got from a descriptor pool.
class message_json::known_types final : public json::TypeResolver {
 public:
  known_types(const pb::DescriptorPool& pool, const pb::Descriptor& type)
      : url_(url_prefix + "/" + std::string(type.full_name())),
        of_pool_(json::NewTypeResolverForDescriptorPool(url_prefix, &pool)),
        linked_(json::NewTypeResolverForDescriptorPool(url_prefix, pb::DescriptorPool::generated_pool())),
        shape_(type) {
    pb::Type& batch = known_[batch_url];
    batch.set_name("coracle.Batch");
    batch.set_syntax(pb::SYNTAX_PROTO3);
    add_field(batch, pb::Field::TYPE_MESSAGE, 1, "items");
    batch.mutable_fields(0)->set_cardinality(pb::Field::CARDINALITY_REPEATED);
    batch.mutable_fields(0)->set_type_url(url_);
    unknown_any_.set_name("coracle.UnknownAny");
    unknown_any_.set_syntax(pb::SYNTAX_PROTO3);
    add_field(unknown_any_, pb::Field::TYPE_STRING, any_error_field, "@error");
    add_field(unknown_any_, pb::Field::TYPE_BYTES, any_value_field, "@value");
  }

  [[nodiscard]] const std::string& url() const noexcept { return url_; }
  [[nodiscard]] wire_shape& shape() noexcept { return shape_; }
  void set_unknown(any_errors all) { unknown_ = std::move(all); }

  // util::Status up to protobuf 3.21, absl::Status since then.
  using outcome = decltype(std::declval<json::TypeResolver&>().ResolveMessageType({}, nullptr));

  outcome ResolveMessageType(const std::string& url, pb::Type* to) override {
    if (unknown_.contains(url)) return *to = unknown_any_, outcome();
    const auto found = known_.find(url);
    if (found != known_.end()) return *to = found->second, outcome();
    outcome result = resolve(url, [&](json::TypeResolver& from, const std::string& name) {
      return from.ResolveMessageType(name, to);
    });
    if (result.ok()) known_[url] = *to;
    return result;
  }
  outcome ResolveEnumType(const std::string& url, pb::Enum* to) override {
    return resolve(url, [&](json::TypeResolver& from, const std::string& name) {
      return from.ResolveEnumType(name, to);
    });
  }

 private:
  // Looks the type up by its name, whatever precedes it in the URL. protobuf's own types are found even if
  // the server does not describe them.
  template <class Ask>
  outcome resolve(const std::string& url, Ask ask) {
    const std::string name = url_prefix + "/" + url.substr(url.find_last_of('/') + 1);
    try {
      outcome result = ask(*of_pool_, name);
      if (result.ok()) return result;
    } catch (const failure&) {
      // The server's reflection does not answer, so the type is unknown.
    }
    return ask(*linked_, name);
  }

  std::string url_;
  std::unique_ptr<json::TypeResolver> of_pool_, linked_;
  wire_shape shape_;
  std::map<std::string, pb::Type> known_;
  pb::Type unknown_any_;
  any_errors unknown_;
};

message_json::message_json(schema& types, const pb::Descriptor& type, options o)
    : types_(types),
      type_(type),
      options_(o),
      known_(std::make_unique<known_types>(*type.file()->pool(), type)) {}
message_json::~message_json() = default;

std::unique_ptr<pb::Message> message_json::make() const {
  if (type_.file()->pool() != pb::DescriptorPool::generated_pool()) return types_.make(type_);
  return std::unique_ptr<pb::Message>(pb::MessageFactory::generated_factory()->GetPrototype(&type_)->New());
}

std::string message_json::as_parsed(std::string_view bytes) const {
  if (known_->shape().is_usual(bytes)) return std::string(bytes);
  const auto message = make();
  if (message->ParseFromString(std::string(bytes))) return message->SerializeAsString();
  throw failure("a message of " + std::to_string(bytes.size()) + " bytes is not a valid " +
                std::string(type_.full_name()) + ": are the definitions those of the server?");
}

std::string message_json::text(std::string_view bytes, bool indented) {
  const std::string parsed = as_parsed(bytes);
  json::JsonPrintOptions printed_as = print_options(options_);
  printed_as.add_whitespace = indented;
  std::string text;
  auto result = json::BinaryToJsonString(known_.get(), known_->url(), parsed, &text, printed_as);
  if (!result.ok()) {
    const auto message = make();
    if (message->ParseFromString(parsed)) {
      const any_errors errors = find_unknown_anys(*message, types_);
      replace_unknown_anys(*message, types_, errors);
      known_->set_unknown(errors);
      text.clear();
      result = json::BinaryToJsonString(known_.get(), known_->url(), message->SerializeAsString(), &text,
                                        printed_as);
      known_->set_unknown({});
    }
  }
  if (!result.ok())
    throw failure("a " + std::string(type_.full_name()) + " cannot be written as JSON: " + reason(result));
  while (text.ends_with('\n')) text.pop_back();
  text = terminal_json(std::move(text));
  return indented ? indented_by_two(text) : text;
}

// Returns false and leaves `to` unchanged if the messages have to be converted one by one.
bool message_json::add_lines_at_once(const message_batch& all, std::string& to) try {
  message_batch parsed;
  bool usual = true;
  std::size_t at = 0;
  while (const auto one = all.next(at)) usual = usual && known_->shape().is_usual(*one);
  at = 0;
  if (!usual)
    while (const auto one = all.next(at)) parsed.add(as_parsed(*one));
  std::string text;
  const message_batch& from = usual ? all : parsed;
  if (!json::BinaryToJsonString(known_.get(), batch_url, from.bytes(), &text, print_options(options_)).ok())
    return false;
  if (!text.starts_with(batch_begin) || !text.ends_with(batch_end)) return false;
  char* const begin = text.data() + batch_begin.size();
  char* const end = text.data() + text.size() - batch_end.size();
  if (split_into_lines(begin, end) != all.count()) return false;
  to.append(terminal_json(std::string(begin, end))).append("\n");
  return true;
} catch (const failure&) {
  return false;
}

void message_json::add_lines(const message_batch& all, std::string& to, std::string& errors) {
  if (all.count() > 1 && add_lines_at_once(all, to)) return;
  std::size_t at = 0;
  while (const auto one = all.next(at)) try {
      to.append(text(*one, false)).append("\n");
    } catch (const failure& error) {
      errors.append(error.what()).append("\n");
    }
}

std::string message_json::bytes(std::string_view json) {
  check(json, type_);
  std::string bytes;
  const auto result = json::JsonToBinaryString(known_.get(), known_->url(), std::string(json), &bytes,
                                               parse_options(options_));
  if (result.ok()) return bytes;
  throw refused_json(json, type_,
                     rpc::find_json_fault(*types_.make(type_), json, options_.ignore_unknown_fields));
}

void message_json::add_messages(std::span<const std::string_view> texts, message_batch& to) {
  const bool objects =
      std::all_of(texts.begin(), texts.end(), [](std::string_view one) { return one.starts_with('{'); });
  if (to.empty() && texts.size() > 1 && objects) {
    for (const std::string_view one : texts) check(one, type_);
    std::string all(batch_begin);
    for (const std::string_view one : texts) all.append(one).append(",");
    all.back() = batch_end.front();
    all.append(batch_end.substr(1));
    std::string bytes;
    if (json::JsonToBinaryString(known_.get(), batch_url, all, &bytes, parse_options(options_)).ok() &&
        to.assign(std::move(bytes), texts.size()))
      return;
  }
  for (const std::string_view one : texts) to.add(bytes(one));
}

void from_json(std::string_view text, pb::Message& into) {
  check(text, *into.GetDescriptor());
  const auto result = json::JsonStringToMessage(std::string(text), &into);
  if (result.ok()) return;
  throw refused_json(text, *into.GetDescriptor(), rpc::find_json_fault(into, text, false));
}

}  // namespace coracle::tools
