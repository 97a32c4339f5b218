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
#define CORACLE_OPERATION(result, name, parameters, arguments, qualifiers) \
  result name parameters qualifiers override { return inner_.name arguments; }
  CORACLE_EXCHANGE_OPERATIONS(CORACLE_OPERATION)
#undef CORACLE_OPERATION
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
