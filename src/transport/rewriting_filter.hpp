// rewriting_filter: a filter that writes other header blocks than its handler does.
#pragma once

#include "base/if_memory_allows.hpp"
#include "coracle/http/header_list.hpp"
#include "transport/exchange_filter.hpp"

#include <string_view>

namespace coracle::transport {

// Collects each block of the handler. The derived class writes its own in write_block().
class rewriting_filter : public exchange_filter {
 public:
  // exchange_target
  bool begin_headers() noexcept final {
    block_.clear();
    return true;
  }
  void add_field(std::string_view name, std::string_view value, hpack::indexing) noexcept final {
    or_close([&] { block_.add(name, value); });
  }
  void end_headers(bool) noexcept final {
    or_close([&] { write_block(); });
  }

 protected:
  explicit rewriting_filter(exchange inner) noexcept : exchange_filter(inner) {}
  ~rewriting_filter() = default;
  // The handler's block is complete, in block_.
  virtual void write_block() = 0;
  // Runs f; closes the connection if memory is exhausted, which ends the exchange.
  template <class F>
  void or_close(F f) noexcept {
    if (!base::if_memory_allows(f) && inner_) inner_.out_of_memory();
  }

  http::header_list block_;  // the one that the handler has written last, or is writing
};

}  // namespace coracle::transport
