// REST: a path template, a path, a query and a body, one line each. The first byte of the input chooses the
// rule that binds them, the second one its options.
#include "protocol/rest/query_string.hpp"
#include "protocol/rest/route_table.hpp"
#include "protocol/web/uri.hpp"
#include "rest/error_body.hpp"
#include "rest/rest_binding.hpp"
#include "rest_kinds.pb.h"
#include "rpc/json_mapping.hpp"
#include "rpc/json_syntax.hpp"
#include "rpc/plain_json.hpp"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

using namespace coracle;
using google::protobuf::Message;
using protocol::rest::path_template;
using protocol::rest::route_match;
using protocol::rest::route_table;
using rest::rest_binding;

namespace {

void require(bool fine) {
  if (!fine) std::abort();
}

std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

struct served {
  std::vector<rest_binding> bindings;
  route_table table;
};

// All rules of the service, in a table.
const served& service(rest::rest_options options) {
  static std::vector<std::unique_ptr<served>> all(32);
  auto& made =
      all[static_cast<std::size_t>(options.proto_field_names) | std::size_t{options.emit_defaults} << 1 |
          std::size_t{options.enums_as_numbers} << 2 | std::size_t{options.ignore_unknown_parameters} << 3 |
          std::size_t{options.ignore_unknown_fields} << 4];
  if (made) return *made;
  made = std::make_unique<served>();
  const auto& library = *rest_kinds::Book::descriptor()->file()->service(0);
  for (int i = 0; i < library.method_count(); ++i) {
    auto rules = rest::http_rules_of(*library.method(i));
    for (auto& rule : rules.value()) {
      require(
          made->table.add(rule.http_method, rule.path, static_cast<std::uint32_t>(made->bindings.size()), "m")
              .ok());
      made->bindings.push_back(*rest_binding::make(*library.method(i), std::move(rule), options));
    }
  }
  return *made;
}

// The values lie in the path, in order, and each of them can be decoded.
void look_at_match(const route_match& m, std::string_view path) {
  if (m.outcome != protocol::rest::match_outcome::found) return;
  const char* end = path.data();
  for (const std::string_view value : m.raw_values()) {
    if (value.data() == nullptr) continue;  // `**` without a segment
    require(value.data() >= end && value.data() + value.size() <= path.data() + path.size());
    end = value.data() + value.size();
    require(protocol::web::has_valid_escapes(value));
    require(protocol::rest::decode_variable(value, true).size() >=
            protocol::rest::decode_variable(value, false).size());
  }
}

void look_at_template(std::string_view text, std::string_view path) {
  const auto parsed = path_template::parse(text);
  if (!parsed.ok()) return;
  require(path_template::parse(parsed->text()).ok());
  route_table table;
  require(table.add("GET", *parsed, 1, "m").ok());
  require(table.add("GET", *parsed, 2, "m").code() == status_code::already_exists);
  require(table.add("PUT", *parsed, 3, "m").ok());
  const route_match found = table.find("GET", path);
  require(table.find("PUT", path).outcome == found.outcome);
  if (found.outcome == protocol::rest::match_outcome::found) {
    require(found.index == 1 && found.value_count == parsed->variables().size());
    require(table.find("POST", path).outcome == protocol::rest::match_outcome::method_not_allowed);
  }
  look_at_match(found, path);
}

std::string bytes_of(const Message& m) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream out(&stream);
    out.SetSerializationDeterministic(true);
    require(m.SerializePartialToCodedStream(&out));
  }
  return bytes;
}

// The fast path gives what protobuf's mapping gives.
void look_at_json(const Message& prototype, std::string_view json) {
  const std::unique_ptr<Message> fast(prototype.New());
  if (!rpc::read_plain_json(*fast, json)) return;
  const std::unique_ptr<Message> general(prototype.New());
  require(rpc::read_json_by_protobuf(*general, json).ok());
  require(bytes_of(*fast) == bytes_of(*general));
}

void look_at_message(const Message& request) {
  std::string general;
  const bool writable = rpc::write_json_by_protobuf(request, general).ok();
  std::string json;
  require(!rpc::write_plain_json(request, json) || (writable && json == general));
  json.clear();
  if (!rpc::write_json(request, json).ok()) return;  // a path of a FieldMask that has no name in JSON
  require(rpc::check_json(json, request.GetDescriptor()).ok());
  const std::unique_ptr<Message> back(request.New());
  if (json.find("mask") != std::string::npos) return;  // such names may come back as others
  require(rpc::read_json(*back, json).ok());
  require(bytes_of(*back) == bytes_of(request));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const google::protobuf::LogSilencer silent;
  if (size < 2) return 0;
  const rest::rest_options options{(data[1] & 1) != 0, (data[1] & 2) != 0, (data[1] & 4) != 0,
                                   (data[1] & 8) != 0, (data[1] & 16) != 0};
  std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::string_view path_text = take_line(text);
  const std::string_view path = take_line(text);
  const std::string_view query = take_line(text);
  const std::string_view body = text;

  look_at_template(path_text, path);
  const served& all = service(options);
  look_at_match(all.table.find("GET", path), path);

  // What the path does not lead to is bound as well, with values of its own.
  const rest_binding& b = all.bindings[data[0] % all.bindings.size()];
  const std::vector<std::string_view> values(b.rule().path.variables().size(), path);
  if (!protocol::web::has_valid_escapes(path)) return 0;
  const auto& type = *b.method().input_type();
  const std::unique_ptr<Message> request(
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(&type)->New());
  look_at_json(*request, body);
  const status outcome = b.read_request({values, query, path_text, as_bytes(body)}, *request);
  if (!outcome.ok()) {
    require(outcome.code() == status_code::invalid_argument && !outcome.message().empty());
    std::string error;
    rest::write_error_body(outcome, error);
    require(rpc::check_json(error).ok());
    return 0;
  }
  look_at_message(*request);
  if (b.method().output_type() == &type) {
    rest::rest_reply reply;
    if (b.write_reply(*request, reply).ok() && !b.has_raw_reply()) require(rpc::check_json(reply.body).ok());
  }
  return 0;
}
