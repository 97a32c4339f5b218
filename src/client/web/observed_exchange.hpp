// observed_exchange: shows an http_observer the header fields of one HTTP exchange.
#pragma once

#include "coracle/client/http_observer.hpp"
#include "coracle/coro/impl/frame_pool.hpp"
#include "coracle/http/header_list.hpp"
#include "transport/exchange_filter.hpp"

#include <string_view>

namespace coracle::client {

// Stands between the HTTP exchange and the attempt, or the protocol that the attempt speaks. Passes
// everything on. Owns itself: it is destroyed when its exchange is released. The observer must outlive it.
class observed_exchange final : public transport::exchange_filter, public coro::pooled {
 public:
  observed_exchange(transport::exchange inner, http_observer& by) noexcept
      : exchange_filter(inner), observer_(by) {}
  [[nodiscard]] transport::exchange attach(transport::exchange_handler& handler) noexcept {
    return attach_to(&handler);
  }

  // transport::exchange_target
  bool begin_headers() noexcept override;
  void add_field(std::string_view name, std::string_view value, hpack::indexing policy) noexcept override;
  void end_headers(bool end_stream) noexcept override;
  void release() noexcept override;
  // transport::exchange_handler
  void on_headers(transport::header_source& fields, transport::block_kind kind, bool end_stream) override;

 private:
  [[nodiscard]] http_version version() const noexcept {
    return inner_.is_http1() ? http_version::http1 : http_version::http2;
  }

  http_observer& observer_;
  http::header_list request_;
};

}  // namespace coracle::client
