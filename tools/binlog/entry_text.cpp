#include "tools/binlog/entry_text.hpp"

#include "tools/terminal_text.hpp"
#include "tools/utc_text.hpp"

#include <coracle/base/impl/base64.hpp>
#include <coracle/base/status.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>

namespace coracle::tools {

namespace {

namespace log_messages = ::grpc::binarylog::v1;
using log_messages::GrpcLogEntry;

std::string_view name_of_type(const GrpcLogEntry& e) {
  switch (e.type()) {
    case GrpcLogEntry::EVENT_TYPE_CLIENT_HEADER: return "client_header";
    case GrpcLogEntry::EVENT_TYPE_SERVER_HEADER: return "server_header";
    case GrpcLogEntry::EVENT_TYPE_CLIENT_MESSAGE: return "client_message";
    case GrpcLogEntry::EVENT_TYPE_SERVER_MESSAGE: return "server_message";
    case GrpcLogEntry::EVENT_TYPE_CLIENT_HALF_CLOSE: return "client_half_close";
    case GrpcLogEntry::EVENT_TYPE_SERVER_TRAILER: return "server_trailer";
    case GrpcLogEntry::EVENT_TYPE_CANCEL: return "cancel";
    default: return "unknown";
  }
}

std::string_view name_of_logger(const GrpcLogEntry& e) {
  if (e.logger() == GrpcLogEntry::LOGGER_CLIENT) return "client";
  return e.logger() == GrpcLogEntry::LOGGER_SERVER ? "server" : "unknown";
}

// Seconds far from today would overflow a time point.
std::string time_of(const GrpcLogEntry& e, const char* format) {
  constexpr std::int64_t seconds_max = 9'000'000'000;
  const auto seconds = e.timestamp().seconds();
  if (seconds < 0 || seconds > seconds_max) return "(invalid time)";
  const std::chrono::nanoseconds after =
      std::chrono::seconds(seconds) + std::chrono::nanoseconds(e.timestamp().nanos());
  return utc_text(std::chrono::system_clock::time_point(
                      std::chrono::duration_cast<std::chrono::system_clock::duration>(after)),
                  format);
}

std::string peer_of(const log_messages::Address& a) {
  switch (a.type()) {
    case log_messages::Address::TYPE_IPV4: return a.address() + ":" + std::to_string(a.ip_port());
    case log_messages::Address::TYPE_IPV6: return "[" + a.address() + "]:" + std::to_string(a.ip_port());
    case log_messages::Address::TYPE_UNIX: return "unix:" + a.address();
    default: return a.address();
  }
}

std::string code_of(const log_messages::Trailer& t) {
  if (t.status_code() > static_cast<std::uint32_t>(status_code::unauthenticated))
    return "code " + std::to_string(t.status_code());
  return std::string(name_of(static_cast<status_code>(t.status_code())));
}

// Null if the entry has none.
const log_messages::Metadata* metadata_of(const GrpcLogEntry& e) {
  if (e.has_client_header()) return &e.client_header().metadata();
  if (e.has_server_header()) return &e.server_header().metadata();
  return e.has_trailer() ? &e.trailer().metadata() : nullptr;
}

std::string value_of(const log_messages::MetadataEntry& pair) {
  return pair.key().ends_with("-bin") ? base::padded_base64(pair.value()) : pair.value();
}

double seconds_of(const google::protobuf::Duration& d) {
  return static_cast<double>(d.seconds()) + d.nanos() * 1e-9;
}

}  // namespace

std::string entry_lines(const GrpcLogEntry& e, std::string_view method) {
  char columns[160];
  const std::string length = e.has_message() ? std::to_string(e.message().length()) : "";
  std::snprintf(columns, sizeof columns, "%s %6llu %4llu %-6s %-17s %9s ",
                time_of(e, "%Y-%m-%d %H:%M:%S").c_str(), static_cast<unsigned long long>(e.call_id()),
                static_cast<unsigned long long>(e.sequence_id_within_call()),
                std::string(name_of_logger(e)).c_str(), std::string(name_of_type(e)).c_str(), length.c_str());
  std::string line(columns);
  line += method;
  if (e.has_client_header()) {
    const auto& header = e.client_header();
    if (!header.authority().empty()) line += " authority " + header.authority();
    if (header.has_timeout()) {
      char timeout[48];
      std::snprintf(timeout, sizeof timeout, " timeout %.6g s", seconds_of(header.timeout()));
      line += timeout;
    }
  }
  if (e.has_trailer()) {
    line += " " + code_of(e.trailer());
    if (!e.trailer().status_message().empty()) line += ": " + e.trailer().status_message();
    if (!e.trailer().status_details().empty())
      line += " (" + std::to_string(e.trailer().status_details().size()) + " bytes of details)";
  }
  if (e.has_peer()) line += " peer " + peer_of(e.peer());
  if (e.payload_truncated()) line += " truncated";
  std::string lines = terminal_line(line);
  lines.erase(lines.find_last_not_of(' ') + 1);
  lines += '\n';
  if (const auto* const metadata = metadata_of(e))
    for (const auto& pair : metadata->entry())
      lines += "    " + terminal_line(pair.key() + ": " + value_of(pair)) + "\n";
  return lines;
}

std::string entry_json(const GrpcLogEntry& e, std::string_view method) {
  nlohmann::ordered_json line{{"time", time_of(e, "%Y-%m-%dT%H:%M:%S") + "Z"},
                              {"call", e.call_id()},
                              {"sequence", e.sequence_id_within_call()},
                              {"logger", name_of_logger(e)},
                              {"event", name_of_type(e)}};
  if (!method.empty()) line["method"] = method;
  if (e.has_client_header()) {
    line["authority"] = e.client_header().authority();
    if (e.client_header().has_timeout()) line["timeout_s"] = seconds_of(e.client_header().timeout());
  }
  if (const auto* const metadata = metadata_of(e)) {
    auto& pairs = line["metadata"] = nlohmann::ordered_json::array();
    for (const auto& pair : metadata->entry()) pairs.push_back({pair.key(), value_of(pair)});
  }
  if (e.has_message()) {
    line["length"] = e.message().length();
    line["data"] = base::padded_base64(e.message().data());
  }
  if (e.has_trailer()) {
    line["status"] = code_of(e.trailer());
    line["message"] = e.trailer().status_message();
    if (!e.trailer().status_details().empty())
      line["details"] = base::padded_base64(e.trailer().status_details());
  }
  if (e.has_peer()) line["peer"] = peer_of(e.peer());
  if (e.payload_truncated()) line["truncated"] = true;
  return line.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace coracle::tools
