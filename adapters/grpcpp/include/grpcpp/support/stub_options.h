// StubOptions: the options of a generated stub.
#pragma once

#include <grpcpp/impl/one_library.h>

namespace grpc {

/// The suffix names the stub in statistics, which the library does not collect.
class StubOptions {
 public:
  StubOptions() = default;
  explicit StubOptions(const char* suffix_for_stats) : suffix_for_stats_(suffix_for_stats) {}
  void set_suffix_for_stats(const char* suffix) { suffix_for_stats_ = suffix; }
  const char* suffix_for_stats() const { return suffix_for_stats_; }

 private:
  const char* suffix_for_stats_ = nullptr;
};

}  // namespace grpc
