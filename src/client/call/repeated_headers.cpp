#include "client/call/repeated_headers.hpp"

#include "base/if_memory_allows.hpp"

#include <new>

namespace coracle::client {

namespace {

// Responses with a longer text are not kept.
constexpr std::size_t message_bytes_max = 256;

}  // namespace

void repeated_headers::sent_fields::keep(const transport::exchange& to,
                                         const protocol::grpc::request_fields& f) {
  const bool whole = base::if_memory_allows([&] {
    path = f.path;
    name = &to.events().ring().name_of(path.c_str());
    subtype = f.subtype;
    to.keep_fields(encoded);
  });
  sent = f.sent;
  accepted = f.accepted;
  if (!whole) *this = {};
}

repeated_headers::sent_fields* repeated_headers::place_of(transport::exchange& to,
                                                          const protocol::grpc::request_fields& f) {
  if (to.has_target() || f.path.empty()) [[unlikely]]
    return nullptr;
  repeated_headers* const all = of(to);
  if (!all) return nullptr;
  return &all->sent_[(f.path.size() + static_cast<unsigned char>(f.path.back())) % all->sent_.size()];
}

void repeated_headers::keep(transport::exchange& from, std::uint32_t number,
                            const protocol::grpc::response_headers& headers) {
  if (!headers.metadata.empty() || headers.pushback || headers.too_large_bytes != 0 ||
      headers.message.size() > message_bytes_max || !headers.details.empty())
    return;
  base::if_memory_allows([&] {
    auto kept = std::make_unique<received_headers>(received_headers{number, headers});
    if (repeated_headers* const all = of(from))
      all->received_[number % all->received_.size()] = std::move(kept);
  });
}

inline repeated_headers* repeated_headers::of(transport::exchange& x) noexcept {
  std::unique_ptr<transport::header_cache>& cached = x.cached_headers();
  if (!cached) [[unlikely]]
    cached.reset(new (std::nothrow) repeated_headers);
  return static_cast<repeated_headers*>(cached.get());
}

}  // namespace coracle::client
