#include "client/web/observed_exchange.hpp"

#include "base/if_memory_allows.hpp"
#include "client/call/response_fields.hpp"

namespace coracle::client {

bool observed_exchange::begin_headers() noexcept {
  request_.clear();
  return inner_.begin_headers();
}

void observed_exchange::add_field(std::string_view name, std::string_view value,
                                  hpack::indexing policy) noexcept {
  inner_.add_field(name, value, policy);
  // Without memory the observer misses the field.
  static_cast<void>(base::if_memory_allows([&] { request_.add(name, value); }));
}

void observed_exchange::end_headers(bool end_stream) noexcept {
  observer_.request_headers(request_, version());
  inner_.end_headers(end_stream);
}

void observed_exchange::release() noexcept {
  inner_.release();
  delete this;
}

void observed_exchange::on_headers(transport::header_source& fields, transport::block_kind kind,
                                   bool end_stream) {
  response_fields block;
  if (!block.read(fields)) return;
  if (kind != transport::block_kind::trailers) observer_.response_headers(block.list, version());
  transport::header_source again = block.again();
  handler_->on_headers(again, kind, end_stream);
}

}  // namespace coracle::client
