#include "tools/load/outputs.hpp"
#include "tools/load/quantities.hpp"

#include <cstddef>
#include <sstream>

namespace coracle::tools::load {

std::string csv_of(const std::vector<results>& runs) {
  std::ostringstream out;
  out << "run,second,calls,ok,failed,active,bytes_sent,bytes_received,mean_ms,min_ms,p50_ms,p90_ms,p95_ms,"
         "p99_ms,"
         "max_ms\n";
  for (const results& r : runs)
    for (std::size_t i = 0; i < r.seconds.size(); ++i) {
      const second_of_load& s = r.seconds[i];
      const latency_histogram& l = s.latency;
      out << r.name << ',' << i << ',' << s.calls() << ',' << l.count() << ',' << s.failed << ',' << s.active
          << ',' << s.bytes_sent << ',' << s.bytes_received;
      for (const duration d :
           {l.mean(), l.min(), l.quantile(0.5), l.quantile(0.9), l.quantile(0.95), l.quantile(0.99), l.max()})
        out << ',' << milliseconds(d);
      out << '\n';
    }
  return out.str();
}

}  // namespace coracle::tools::load
