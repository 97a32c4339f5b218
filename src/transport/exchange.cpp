#include "transport/exchange.hpp"

#include "transport/http1_session.hpp"

#include <cstring>
#include <memory>
#include <utility>

namespace coracle::transport {

std::size_t exchange::peer_header_list_bytes() const noexcept {
  const auto& http1 = of().http1_;
  return http1 ? http1->header_bytes_max() : of().engine_.peer_header_list_bytes();
}

void exchange::write(bytes_view bytes, bool end_stream) {
  if (std::uint8_t* const room = reserve_data(bytes.size())) {
    if (!bytes.empty()) std::memcpy(room, bytes.data(), bytes.size());
    return commit_data(bytes.size(), end_stream);
  }
  std::unique_ptr<std::uint8_t[]> copy(new std::uint8_t[bytes.size()]);
  if (!bytes.empty()) std::memcpy(copy.get(), bytes.data(), bytes.size());
  queue_data(std::move(copy), bytes.size(), end_stream);
}

}  // namespace coracle::transport
