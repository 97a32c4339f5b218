#include "server/call/server_call.hpp"

namespace coracle::server_internal {

void metered_call::on_headers(transport::header_source& fields, transport::block_kind kind, bool end_stream) {
  const rpc::call_clock::run now(this);
  of_.on_headers(fields, kind, end_stream);
}

void metered_call::on_data(bytes_view bytes, bool end_stream) {
  const rpc::call_clock::run now(this);
  of_.on_data(bytes, end_stream);
}

void metered_call::on_writable() {
  const rpc::call_clock::run now(this);
  of_.on_writable();
}

void metered_call::on_uncongested() {
  const rpc::call_clock::run now(this);
  of_.on_uncongested();
}

void metered_call::on_reset(const transport::abnormal_end& end) noexcept {
  const rpc::call_clock::run now(this);
  of_.on_reset(end);
}

// A handler may wait for several things at once: the first that applies counts.
rpc::call_wait metered_call::waits_for() const noexcept {
  const rpc::call_wait own = of_.waits_for();
  return own == rpc::call_wait::other && has_open_calls() ? rpc::call_wait::calls : own;
}

}  // namespace coracle::server_internal
