#include "tools/call/call_printer.hpp"

#include "tools/diagnostics.hpp"
#include "tools/failure.hpp"
#include "tools/format/message_json.hpp"
#include "tools/option_names.hpp"
#include "tools/terminal_text.hpp"

#include <coracle/base/impl/base64.hpp>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

#include <nlohmann/json.hpp>

#include <cstdio>

namespace coracle::tools {

namespace {

namespace pb = google::protobuf;
using ordered_json = nlohmann::ordered_json;

std::string type_name(const pb::Any& detail) {
  return detail.type_url().substr(detail.type_url().find_last_of('/') + 1);
}

const pb::Descriptor* type_of(const pb::Any& detail, schema& types) {
  const pb::Descriptor* const type = types.find_message(type_name(detail));
  return type ? type : pb::DescriptorPool::generated_pool()->FindMessageTypeByName(type_name(detail));
}

std::string detail_text(const pb::Any& detail, schema& types) {
  const std::string name = type_name(detail);
  if (const pb::Descriptor* type = type_of(detail, types)) try {
      return name + " " + message_json(types, *type).text(detail.value(), false);
    } catch (const failure&) {
      // The detail is shown only by its size.
    }
  return name + ", " + std::to_string(detail.value().size()) + " bytes";
}

google::rpc::Status details_of(const status& outcome) {
  static_cast<void>(google::rpc::ErrorInfo::descriptor());  // a static program links only what is referenced
  google::rpc::Status all;
  if (!all.ParseFromString(std::string(outcome.details()))) all.Clear();
  return all;
}

std::string details_text(const status& outcome, schema& types) {
  std::string text;
  const google::rpc::Status all = details_of(outcome);
  for (const pb::Any& one : all.details()) text += "\n  " + detail_text(one, types);
  return text;
}

// A detail whose type is not known has its bytes, as in message_json.
ordered_json detail_json(const pb::Any& detail, schema& types) {
  ordered_json fields{{"@type", detail.type_url()}};
  if (const pb::Descriptor* type = type_of(detail, types)) try {
      fields.update(ordered_json::parse(message_json(types, *type).text(detail.value(), false)));
      return fields;
    } catch (const failure&) {
      // The detail is shown by its bytes.
    }
  fields["@value"] = base::padded_base64(detail.value());
  return fields;
}

// As google.rpc.Status is in JSON, with the name of the code.
std::string status_json(const status& outcome, schema& types) {
  ordered_json text{{"code", static_cast<int>(outcome.code())},
                    {"status", name_of(outcome.code())},
                    {"message", outcome.message()},
                    {"details", ordered_json::array()}};
  const google::rpc::Status all = details_of(outcome);
  for (const pb::Any& one : all.details()) text["details"].push_back(detail_json(one, types));
  return text.dump(-1, ' ', true, ordered_json::error_handler_t::replace);
}

}  // namespace

std::string hex_text(std::string_view bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes)
    text.append(
        {digits[static_cast<unsigned char>(c) >> 4], digits[static_cast<unsigned char>(c) & 15], ' '});
  return text;
}

std::string metadata_text(const metadata& of, const char* before) {
  std::string text;
  for (const auto field : of) {
    text.append(before).append(field.name).append(": ");
    text.append(field.name.ends_with("-bin") ? hex_text(field.value) : terminal_text(field.value)) += '\n';
  }
  return text;
}

double call_printer::ms() const {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - began_).count();
}

void call_printer::print_begin(const endpoint& where, const pb::MethodDescriptor& method,
                               const metadata& sent) {
  began_ = std::chrono::steady_clock::now();
  if (!verbose_) return;
  std::fprintf(stderr, "> %s on %s%s\n%s", path_of(method).c_str(), where.address().c_str(),
               where.plaintext() ? ", plaintext" : ", TLS", metadata_text(sent, "> ").c_str());
}

void call_printer::print_sent(std::size_t bytes) {
  if (verbose_) std::fprintf(stderr, "> a message of %zu bytes, at %.1f ms\n", bytes, ms());
}

void call_printer::print_headers(const metadata& headers) {
  if (verbose_) std::fprintf(stderr, "< headers, at %.1f ms\n%s", ms(), metadata_text(headers, "< ").c_str());
}

void call_printer::print_received(std::size_t bytes) {
  if (verbose_) std::fprintf(stderr, "< a message of %zu bytes, at %.1f ms\n", bytes, ms());
}

void call_printer::print_end(const status& outcome, const metadata& trailers, schema& types,
                             const endpoint& where) {
  if (verbose_)
    std::fprintf(stderr, "%s< %s, at %.1f ms\n", metadata_text(trailers, "< ").c_str(),
                 std::string(name_of(outcome.code())).c_str(), ms());
  if (outcome.ok()) return;
  if (format_ == format::json) {
    std::fprintf(stderr, "%s\n", status_json(outcome, types).c_str());
    return;
  }
  print_error(with_option_names(outcome.to_string()) + details_text(outcome, types), where.hint(outcome));
}

}  // namespace coracle::tools
