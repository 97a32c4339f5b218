#include "tools/protobuf_log.hpp"

#include <google/protobuf/stubs/common.h>

// protobuf logs through Abseil from its version 22 on. __has_include would find the header of the
// distribution's protobuf where a newer one is used.
#if GOOGLE_PROTOBUF_VERSION < 4022000
#include <google/protobuf/stubs/logging.h>
#else
#include <absl/log/globals.h>
#endif

namespace coracle::tools {

void silence_protobuf() {
#if GOOGLE_PROTOBUF_VERSION < 4022000
  google::protobuf::SetLogHandler(nullptr);
#else
  absl::SetMinLogLevel(absl::LogSeverityAtLeast::kFatal);
#endif
}

}  // namespace coracle::tools
