// server_call: a call of a server with messages as bytes: the core below the typed classes.
#pragma once

#include <grpcpp/impl/call_op_set.h>
#include <grpcpp/support/status.h>

#include <string>

namespace grpc {

class ServerContext;

namespace internal {

class call_interception;

// What a handler of the synchronous API has of its call. The operations block the thread of the handler; one
// thread may read while another one writes.
class server_call {
 public:
  server_call(const server_call&) = delete;
  server_call& operator=(const server_call&) = delete;

  static constexpr bool is_server = true;
  // Null if no interceptors see the call.
  [[nodiscard]] call_interception* interception() const { return seen_; }
  virtual ServerContext& context() = 0;
  // The request of a call that has one; once.
  virtual std::string take_request() = 0;
  // False: there is no message any more, or the call is over.
  virtual bool read(std::string& into) = 0;
  // False: the call is over.
  virtual bool write(std::string&& message, const WriteOptions& options) = 0;
  virtual void send_initial_metadata() = 0;
  // The end, after which the handler returns. `reply` is sent if the call has one reply and the status is OK.
  virtual void finish(const Status& outcome, std::string&& reply = {}) = 0;

 protected:
  server_call() = default;
  call_interception* seen_ = nullptr;
  ~server_call() = default;
};

}  // namespace internal
}  // namespace grpc
