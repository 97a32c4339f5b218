#include "http2/error_code.hpp"

namespace coracle::http2 {

std::string_view name_of(error_code code) noexcept {
  switch (code) {
    case error_code::no_error: return "NO_ERROR";
    case error_code::protocol_error: return "PROTOCOL_ERROR";
    case error_code::internal_error: return "INTERNAL_ERROR";
    case error_code::flow_control_error: return "FLOW_CONTROL_ERROR";
    case error_code::settings_timeout: return "SETTINGS_TIMEOUT";
    case error_code::stream_closed: return "STREAM_CLOSED";
    case error_code::frame_size_error: return "FRAME_SIZE_ERROR";
    case error_code::refused_stream: return "REFUSED_STREAM";
    case error_code::cancel: return "CANCEL";
    case error_code::compression_error: return "COMPRESSION_ERROR";
    case error_code::connect_error: return "CONNECT_ERROR";
    case error_code::enhance_your_calm: return "ENHANCE_YOUR_CALM";
    case error_code::inadequate_security: return "INADEQUATE_SECURITY";
    case error_code::http_1_1_required: return "HTTP_1_1_REQUIRED";
  }
  return "UNKNOWN_ERROR";
}

}  // namespace coracle::http2
