// observed_exchange: shows an http_observer the header fields of one HTTP exchange.
#pragma once

#include "coracle/base/bytes.hpp"
#include "coracle/client/http_observer.hpp"
#include "coracle/coro/impl/frame_pool.hpp"
#include "coracle/http/header_list.hpp"
#include "transport/exchange.hpp"
#include "transport/exchange_target.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

namespace coracle::client {

// Stands between the HTTP exchange and the attempt, or the protocol that the attempt speaks. Passes
// everything on. Owns itself: it is destroyed when its exchange is released. The observer must outlive it.
class observed_exchange final : public transport::exchange_target,
                                public transport::exchange_handler,
                                public coro::pooled {
 public:
  observed_exchange(transport::exchange inner, http_observer& by) noexcept : inner_(inner), observer_(by) {}
  // Takes over the exchange. Returns that of `handler`.
  [[nodiscard]] transport::exchange attach(transport::exchange_handler& handler) noexcept {
    handler_ = &handler;
    inner_.set_handler(this);
    return inner_.behind(*this);
  }

  // transport::exchange_target
  bool begin_headers() noexcept override;
  void add_field(std::string_view name, std::string_view value) noexcept override;
  void end_headers(bool end_stream) noexcept override;
  std::uint8_t* reserve_data(std::size_t n) override { return inner_.reserve_data(n); }
  void commit_data(std::size_t n, bool end_stream) noexcept override { inner_.commit_data(n, end_stream); }
  bool queue_data(std::unique_ptr<std::uint8_t[]> bytes, std::size_t n, bool end_stream) override {
    return inner_.queue_data(std::move(bytes), n, end_stream);
  }
  [[nodiscard]] std::size_t queued() const noexcept override { return inner_.queued(); }
  void want_writable(std::size_t low_bytes) noexcept override { inner_.want_writable(low_bytes); }
  void consume(std::size_t n) noexcept override { inner_.consume(n); }
  void set_kept(std::size_t bytes) noexcept override { inner_.set_kept(bytes); }
  void wait_until_uncongested() noexcept override { inner_.wait_until_uncongested(); }
  void reset(transport::error_code code) noexcept override { inner_.reset(code); }
  void out_of_memory() noexcept override { inner_.out_of_memory(); }
  void set_handler(transport::exchange_handler* handler) noexcept override { handler_ = handler; }
  void release() noexcept override;

  // transport::exchange_handler. The call of the handler is the last step: it may destroy this object.
  void on_headers(transport::header_source& fields, transport::block_kind kind, bool end_stream) override;
  void on_data(bytes_view bytes, bool end_stream) override { handler_->on_data(bytes, end_stream); }
  void on_writable() override { handler_->on_writable(); }
  void on_uncongested() override { handler_->on_uncongested(); }
  void on_reset(const transport::abnormal_end& end) noexcept override { handler_->on_reset(end); }

 private:
  [[nodiscard]] http_version version() const noexcept {
    return inner_.is_http1() ? http_version::http1 : http_version::http2;
  }

  transport::exchange inner_;
  http_observer& observer_;
  transport::exchange_handler* handler_ = nullptr;
  http::header_list request_;
};

}  // namespace coracle::client
