// live_export: writes the results of each second while a run lasts, for dashboards.
#pragma once

#include "tools/load/load_stats.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

namespace coracle::tools::load {

class live_export {
 public:
  // `lines`: a file for a JSON object per second and line; "-" is the standard output. `metrics`: a file in
  // the text format of Prometheus, which is replaced each second, for a collector of text files. Empty: none.
  // Throws failure if a file cannot be written.
  live_export(const std::string& lines, std::string metrics);

  void begins(std::string run) { run_ = std::move(run); }
  void second_passed(std::size_t second, const second_of_load& s);

 private:
  struct closer {
    void operator()(std::FILE* f) const noexcept {
      if (f != stdout) std::fclose(f);
    }
  };
  void write_metrics(const second_of_load& s) const;

  std::unique_ptr<std::FILE, closer> lines_;
  std::string metrics_;
  std::string run_;
  std::uint64_t ok_ = 0;
  std::uint64_t failed_ = 0;
  std::uint64_t bytes_sent_ = 0;
  std::uint64_t bytes_received_ = 0;
  wire_bytes wire_;
};

}  // namespace coracle::tools::load
