#include "tools/load/fixed_requests.hpp"

#include <utility>

namespace coracle::tools::load {

fixed_requests::fixed_requests(std::string path, call_kind kind, std::string bytes, std::uint32_t messages)
    : path_(std::move(path)),
      message_(std::move(bytes)),
      messages_(kind == call_kind::client_streaming || kind == call_kind::bidi ? messages : 1),
      kind_(kind) {}

}  // namespace coracle::tools::load
