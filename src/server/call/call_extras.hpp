// call_extras: what only few calls of a server have. metered_call: measures one call.
#pragma once

#include "coracle/coro/impl/frame_pool.hpp"
#include "coracle/net/address.hpp"
#include "coracle/rpc/load_report.hpp"
#include "coracle/security/auth_context.hpp"
#include "rpc/call_meter.hpp"
#include "server/admission/call_admission.hpp"
#include "server/call/call_handler.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

namespace coracle::server_internal {

class server_call;

// Stands before its call, as the handler of the exchange, so that what arrives is accounted to the call.
// Calls that are not measured do not pay for this.
class metered_call final : public rpc::call_meter, public call_handler {
 public:
  metered_call(loop& on, server_call& of) : call_meter(on), of_(of) {}

  // call_handler
  [[nodiscard]] server_call& call() noexcept override { return of_; }
  void on_headers(transport::header_source& fields, transport::block_kind kind, bool end_stream) override;
  void on_data(bytes_view bytes, bool end_stream) override;
  void on_writable() override;
  void on_uncongested() override;
  void on_reset(const transport::abnormal_end& end) noexcept override;

 private:
  [[nodiscard]] rpc::call_wait waits_for() const noexcept override;
  server_call& of_;
};

// What a call keeps when it has ended before its handler.
struct orphan_state {
  orphan_state(const net::address& p, std::shared_ptr<const auth_context> a, std::shared_ptr<std::size_t> c)
      : peer(p), auth(std::move(a)), of_connection(std::move(c)) {}

  net::address peer;
  std::shared_ptr<const auth_context> auth;
  std::shared_ptr<std::size_t> of_connection;  // shared with the connection; counts its orphaned calls
  std::size_t bytes = 0;  // its part of the set's orphaned_bytes
};

// One test finds that a call has none of them.
struct call_extras : coro::pooled {
  std::optional<orphan_state> orphan;
  std::optional<metered_call> meter;
  std::optional<load_report> load;  // what the handler has recorded
  std::optional<call_admission> admission;  // none: nothing limits the call
};

}  // namespace coracle::server_internal
