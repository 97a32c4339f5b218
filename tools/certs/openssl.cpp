#include "tools/certs/openssl.hpp"

#include "tools/failure.hpp"

#include <openssl/err.h>

#include <cstring>

namespace coracle::tools {

namespace {

// The first error in this thread's queue is the cause of the others.
std::string take_reason() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  if (code == 0) return "OpenSSL reports no reason";
  if (ERR_SYSTEM_ERROR(code)) return std::strerror(ERR_GET_REASON(code));
  if (const char* reason = ERR_reason_error_string(code))
    return std::string("OpenSSL reports ").append(reason);
  char text[256];
  ERR_error_string_n(code, text, sizeof text);
  return std::string("OpenSSL reports ").append(text);
}

}  // namespace

void throw_openssl_error(std::string_view attempt, std::string_view fix) {
  auto text = std::string("cannot ").append(attempt).append(": ").append(take_reason());
  if (!fix.empty()) text.append("; ").append(fix);
  throw failure(text);
}

}  // namespace coracle::tools
