#include "tools/load/outputs.hpp"
#include "tools/load/quantities.hpp"

#include <cstddef>
#include <cstdint>
#include <sstream>

namespace coracle::tools::load {

namespace {

double per_call(std::uint64_t total, std::uint64_t calls) {
  return calls == 0 ? 0 : static_cast<double>(total) / static_cast<double>(calls);
}

}  // namespace

std::string csv_of(const std::vector<results>& runs) {
  std::ostringstream out;
  out << "run,second,calls,ok,failed,active,bytes_sent,bytes_received,wire_bytes_sent,wire_bytes_received,"
         "wire_bytes_sent_per_call,wire_bytes_received_per_call,mean_ms,min_ms,p50_ms,p90_ms,p95_ms,p99_ms,"
         "max_ms\n";
  for (const results& r : runs)
    for (std::size_t i = 0; i < r.seconds.size(); ++i) {
      const second_of_load& s = r.seconds[i];
      const latency_histogram& l = s.latency;
      out << r.name << ',' << i << ',' << s.calls() << ',' << l.count() << ',' << s.failed << ',' << s.active
          << ',' << s.bytes_sent << ',' << s.bytes_received << ',' << s.wire.sent << ',' << s.wire.received
          << ',' << per_call(s.wire.sent, s.calls()) << ',' << per_call(s.wire.received, s.calls());
      for (const duration d :
           {l.mean(), l.min(), l.quantile(0.5), l.quantile(0.9), l.quantile(0.95), l.quantile(0.99), l.max()})
        out << ',' << milliseconds(d);
      out << '\n';
    }
  return out.str();
}

}  // namespace coracle::tools::load
