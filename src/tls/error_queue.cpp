#include "tls/error_queue.hpp"

#include <openssl/err.h>

#include <cstring>

namespace coracle::tls {

std::string take_error(const char* otherwise) {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  if (code == 0) return otherwise;
  if (ERR_SYSTEM_ERROR(code)) return std::strerror(ERR_GET_REASON(code));
  const char* reason = ERR_reason_error_string(code);
  return reason ? reason : otherwise;
}

}  // namespace coracle::tls
