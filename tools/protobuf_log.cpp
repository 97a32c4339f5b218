#include "tools/protobuf_log.hpp"

// Newer versions of protobuf log through Abseil.
#if __has_include(<google/protobuf/stubs/logging.h>)
#include <google/protobuf/stubs/logging.h>
#else
#include <absl/log/globals.h>
#endif

namespace coracle::tools {

void silence_protobuf() {
#if __has_include(<google/protobuf/stubs/logging.h>)
  google::protobuf::SetLogHandler(nullptr);
#else
  absl::SetMinLogLevel(absl::LogSeverityAtLeast::kFatal);
#endif
}

}  // namespace coracle::tools
