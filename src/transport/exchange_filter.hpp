// exchange_filter: what stands between an exchange and its handler, and passes everything on.
#pragma once

#include "coracle/base/bytes.hpp"
#include "transport/exchange.hpp"
#include "transport/exchange_target.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

namespace coracle::transport {

// The target of the handler's exchange, and the handler of the exchange behind it. Each function passes its
// call on; a derived class overrides those that it changes. Its owner is the derived class, which implements
// release(). An exchange that needs no filter has none, and pays nothing for this class.
//
// A call of the handler may release the exchange, and destroy this object with it: it is the last step.
class exchange_filter : public exchange_target, public exchange_handler {
 public:
  // exchange_target
  bool begin_headers() noexcept override { return inner_.begin_headers(); }
  void add_field(std::string_view name, std::string_view value) noexcept override {
    inner_.add_field(name, value);
  }
  void end_headers(bool end_stream) noexcept override { inner_.end_headers(end_stream); }
  std::uint8_t* reserve_data(std::size_t n) override { return inner_.reserve_data(n); }
  void commit_data(std::size_t n, bool end_stream) noexcept override { inner_.commit_data(n, end_stream); }
  bool queue_data(std::unique_ptr<std::uint8_t[]> bytes, std::size_t n, bool end_stream) override {
    return inner_.queue_data(std::move(bytes), n, end_stream);
  }
  [[nodiscard]] std::size_t queued() const noexcept override { return inner_.queued(); }
  void want_writable(std::size_t low_bytes) noexcept override { inner_.want_writable(low_bytes); }
  void consume(std::size_t n) noexcept override { inner_.consume(n); }
  void set_kept(std::size_t bytes) noexcept override { inner_.set_kept(bytes); }
  void wait_until_uncongested() noexcept final { inner_.wait_until_uncongested(); }
  void reset(error_code code) noexcept final { inner_.reset(code); }
  void out_of_memory() noexcept final { inner_.out_of_memory(); }
  void set_handler(exchange_handler* handler) noexcept final { handler_ = handler; }

  // exchange_handler
  void on_headers(header_source& fields, block_kind kind, bool end_stream) override {
    handler_->on_headers(fields, kind, end_stream);
  }
  void on_data(bytes_view bytes, bool end_stream) override { handler_->on_data(bytes, end_stream); }
  void on_writable() override { handler_->on_writable(); }
  void on_uncongested() final { handler_->on_uncongested(); }
  void on_reset(const abnormal_end& end) noexcept override { handler_->on_reset(end); }

 protected:
  explicit exchange_filter(exchange inner) noexcept : inner_(inner) {}
  ~exchange_filter() = default;
  // Takes over the exchange. Returns that of `handler`, which may be null until it is set.
  [[nodiscard]] exchange attach_to(exchange_handler* handler) noexcept {
    handler_ = handler;
    inner_.set_handler(this);
    return inner_.behind(*this);
  }

  exchange inner_;
  exchange_handler* handler_ = nullptr;
};

}  // namespace coracle::transport
