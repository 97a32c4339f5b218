#include "tools/load/live_export.hpp"

#include "tools/failure.hpp"
#include "tools/load/quantities.hpp"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <utility>

namespace coracle::tools::load {

namespace {

constexpr std::pair<const char*, double> quantiles[] = {
    {"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}};

// For the value of a label.
std::string label_escaped(const std::string& text) {
  std::string all;
  for (const char c : text) {
    if (c == '\\' || c == '"') all += '\\';
    if (c == '\n') all += "\\n";
    else all += c;
  }
  return all;
}

}  // namespace

live_export::live_export(const std::string& lines, std::string metrics) : metrics_(std::move(metrics)) {
  if (!lines.empty()) {
    lines_.reset(lines == "-" ? stdout : std::fopen(lines.c_str(), "we"));
    if (!lines_) throw failure("cannot write " + lines + ": " + std::strerror(errno));
  }
  if (!metrics_.empty() && !std::ofstream(metrics_ + ".new"))
    throw failure("cannot write " + metrics_ + ": " + std::strerror(errno));
}

void live_export::second_passed(std::size_t second, const second_of_load& s) {
  ok_ += s.latency.count();
  failed_ += s.failed;
  bytes_sent_ += s.bytes_sent;
  bytes_received_ += s.bytes_received;
  wire_ += s.wire;
  if (lines_) {
    nlohmann::ordered_json latency = nullptr;
    if (s.latency.count() > 0) {
      latency = nlohmann::ordered_json::object();
      for (const auto& [name, q] : quantiles) latency[name] = milliseconds(s.latency.quantile(q));
      latency["max"] = milliseconds(s.latency.max());
    }
    const nlohmann::ordered_json line{{"run", run_},
                                      {"second", second},
                                      {"ok", s.latency.count()},
                                      {"failed", s.failed},
                                      {"active", s.active},
                                      {"bytes_sent", s.bytes_sent},
                                      {"bytes_received", s.bytes_received},
                                      {"wire_bytes_sent", s.wire.sent},
                                      {"wire_bytes_received", s.wire.received},
                                      {"latency_ms", latency}};
    std::fprintf(lines_.get(), "%s\n", line.dump().c_str());
    std::fflush(lines_.get());
  }
  if (!metrics_.empty()) write_metrics(s);
}

// A reader sees the whole file or the one before.
void live_export::write_metrics(const second_of_load& s) const {
  const std::string labels = "{run=\"" + label_escaped(run_) + "\"";
  std::ofstream out(metrics_ + ".new", std::ios::trunc);
  out << "# HELP coracle_load_calls_total Calls that have ended.\n# TYPE coracle_load_calls_total counter\n"
      << "coracle_load_calls_total" << labels << ",result=\"ok\"} " << ok_ << "\n"
      << "coracle_load_calls_total" << labels << ",result=\"failed\"} " << failed_ << "\n"
      << "# HELP coracle_load_sent_bytes_total Bytes of messages sent.\n# TYPE coracle_load_sent_bytes_total "
         "counter\n"
      << "coracle_load_sent_bytes_total" << labels << "} " << bytes_sent_ << "\n"
      << "# HELP coracle_load_received_bytes_total Bytes of messages received.\n"
      << "# TYPE coracle_load_received_bytes_total counter\n"
      << "coracle_load_received_bytes_total" << labels << "} " << bytes_received_ << "\n"
      << "# HELP coracle_load_wire_sent_bytes_total Bytes sent, with all framing.\n"
      << "# TYPE coracle_load_wire_sent_bytes_total counter\n"
      << "coracle_load_wire_sent_bytes_total" << labels << "} " << wire_.sent << "\n"
      << "# HELP coracle_load_wire_received_bytes_total Bytes received, with all framing.\n"
      << "# TYPE coracle_load_wire_received_bytes_total counter\n"
      << "coracle_load_wire_received_bytes_total" << labels << "} " << wire_.received << "\n"
      << "# HELP coracle_load_active Workers, users or calls at a time, the maximum of the last second.\n"
      << "# TYPE coracle_load_active gauge\ncoracle_load_active" << labels << "} " << s.active << "\n"
      << "# HELP coracle_load_latency_seconds Latencies of the last second.\n"
      << "# TYPE coracle_load_latency_seconds gauge\n";
  for (const auto& [name, q] : quantiles)
    out << "coracle_load_latency_seconds" << labels << ",quantile=\"" << q << "\"} "
        << std::chrono::duration<double>(s.latency.quantile(q)).count() << "\n";
  out.close();
  if (out) static_cast<void>(std::rename((metrics_ + ".new").c_str(), metrics_.c_str()));
}

}  // namespace coracle::tools::load
