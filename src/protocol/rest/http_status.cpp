#include "protocol/rest/http_status.hpp"

namespace coracle::protocol::rest {

int http_status_of(status_code code) noexcept {
  switch (code) {
    case status_code::ok: return 200;
    case status_code::cancelled: return 499;
    case status_code::invalid_argument:
    case status_code::failed_precondition:  // not 412, which is about conditional requests
    case status_code::out_of_range: return 400;
    case status_code::deadline_exceeded: return 504;
    case status_code::not_found: return 404;
    case status_code::already_exists:
    case status_code::aborted: return 409;
    case status_code::permission_denied: return 403;
    case status_code::unauthenticated: return 401;
    case status_code::resource_exhausted: return 429;
    case status_code::unimplemented: return 501;
    case status_code::unavailable: return 503;
    case status_code::unknown:
    case status_code::internal:
    case status_code::data_loss: break;
  }
  return 500;
}

status_code status_code_of(int http_status) noexcept {
  switch (http_status) {
    case 400: return status_code::invalid_argument;
    case 401: return status_code::unauthenticated;
    case 403: return status_code::permission_denied;
    case 404: return status_code::not_found;
    case 405:
    case 501: return status_code::unimplemented;
    case 408:
    case 504: return status_code::deadline_exceeded;
    case 409: return status_code::aborted;
    case 412: return status_code::failed_precondition;
    case 413:
    case 429: return status_code::resource_exhausted;
    case 416: return status_code::out_of_range;
    case 499: return status_code::cancelled;
    case 502:
    case 503: return status_code::unavailable;
    default: break;
  }
  if (http_status >= 200 && http_status < 300) return status_code::ok;
  if (http_status >= 400 && http_status < 500) return status_code::failed_precondition;
  return http_status >= 500 ? status_code::internal : status_code::unknown;
}

}  // namespace coracle::protocol::rest
