// ServerContext: what a handler can learn about its call, and control, apart from the messages.
#pragma once

#include <grpc/compression.h>
#include <grpcpp/impl/metadata_map.h>
#include <grpcpp/impl/sync.h>  // IWYU pragma: export
#include <grpcpp/security/auth_context.h>
#include <grpcpp/support/config.h>
#include <grpcpp/support/time.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

struct census_context;
struct grpc_call;

namespace grpc {

namespace experimental {

class CallMetricRecorder;

}  // namespace experimental

namespace testing {

class ServerContextTestSpouse;

}  // namespace testing

namespace internal {

class call_interception;
class server_call_core;  // private: src/server/server_call_core.hpp
struct server_context_access;  // private: src/server/server_context_access.hpp
template <class Request, class Reply>
class callback_unary;

}  // namespace internal

/// The base of the contexts. The library makes the context of a handler, which is valid until the handler
/// returns; one that a test makes belongs to no call. One thread at a time, but for IsCancelled() and
/// TryCancel(). A call whose context is destroyed before the call was finished is cancelled.
class ServerContextBase {
 public:
  ServerContextBase(const ServerContextBase&) = delete;
  ServerContextBase& operator=(const ServerContextBase&) = delete;
  virtual ~ServerContextBase();

  /// When the call ends at the latest.
  std::chrono::system_clock::time_point deadline() const { return Timespec2Timepoint(deadline_); }
  gpr_timespec raw_deadline() const { return deadline_; }
  /// Adds metadata that is sent before the first message.
  void AddInitialMetadata(const std::string& key, const std::string& value) {
    initial_.emplace_back(key, value);
  }
  /// Adds metadata that is sent with the status.
  void AddTrailingMetadata(const std::string& key, const std::string& value) {
    trailing_.emplace_back(key, value);
  }
  /// Whether the call has ended before its handler.
  bool IsCancelled() const;
  /// Ends the call with CANCELLED. Operations that wait return false.
  void TryCancel() const;
  /// The metadata that the client sent.
  const std::multimap<string_ref, string_ref>& client_metadata() const;
  /// How replies are compressed, if the client accepts it; before the first message and the initial metadata.
  void set_compression_algorithm(grpc_compression_algorithm algorithm) { compression_ = algorithm; }
  grpc_compression_algorithm compression_algorithm() const {
    return compression_.value_or(GRPC_COMPRESS_NONE);
  }
  /// GRPC_COMPRESS_LEVEL_NONE: no compression. The other levels: gzip.
  void set_compression_level(grpc_compression_level level) {
    level_ = level;
    compression_ = level == GRPC_COMPRESS_LEVEL_NONE ? GRPC_COMPRESS_NONE : GRPC_COMPRESS_GZIP;
  }
  grpc_compression_level compression_level() const { return level_.value_or(GRPC_COMPRESS_LEVEL_NONE); }
  bool compression_level_set() const { return level_.has_value(); }
  /// Has no effect.
  void SetLoadReportingCosts(const std::vector<std::string>& /*costs*/) {}
  /// The name that the client called, with its port if it named one; empty without a call. Valid as long as
  /// the context.
  string_ref ExperimentalGetAuthority() const { return authority(); }
  /// The identity of the client; never null.
  std::shared_ptr<const AuthContext> auth_context() const;
  /// The address of the client: "ipv4:127.0.0.1:40000", "ipv6:%5B::1%5D:40000", "unix:/path".
  std::string peer() const;
  /// Before the call is requested: puts an event with `tag` into the queue of the call when it has ended,
  /// finished or cancelled; IsCancelled() tells which. Without a call there is no event.
  void AsyncNotifyWhenDone(void* tag) { done_tag_ = tag; }
  /// Records the load of the call (grpcpp/ext/call_metric_recorder.h). Null if the server was built without
  /// EnableCallMetricRecording(). Valid as long as the context.
  experimental::CallMetricRecorder* ExperimentalGetCallMetricRecorder();
  const ::census_context* census_context() const
      CORACLE_GRPCPP_MISSING("there is no census: coracle::server_observer");
  grpc_call* c_call()
      CORACLE_GRPCPP_MISSING("there are no calls of the C library: the functions of this context");

 protected:
  ServerContextBase() = default;
  const std::string& authority() const;

 private:
  friend struct internal::server_context_access;
  friend class testing::ServerContextTestSpouse;
  std::shared_ptr<internal::server_call_core> call_;
  std::shared_ptr<internal::call_interception> interception_;  // null if no interceptors see the call
  std::optional<void*> done_tag_;
  gpr_timespec deadline_ = gpr_inf_future(GPR_CLOCK_MONOTONIC);
  std::vector<std::pair<std::string, std::string>> initial_;
  std::vector<std::pair<std::string, std::string>> trailing_;
  std::optional<grpc_compression_algorithm> compression_;
  std::optional<grpc_compression_level> level_;
  internal::metadata_map of_test_;  // the client's, if there is no call
};

/// The context of a synchronous handler, or one that the program makes for a call that it requests, and
/// keeps until the events of the call were taken.
class ServerContext : public ServerContextBase {
 public:
  ServerContext() = default;
};

class RpcAllocatorState;
class ServerUnaryReactor;

/// The context of a call of the callback API, which is valid until its reactor's OnDone() has returned.
class CallbackServerContext : public ServerContextBase {
 public:
  CallbackServerContext();
  ~CallbackServerContext() override;
  /// A reactor for a unary call that needs none of its own: its functions do nothing. It belongs to the
  /// context.
  ServerUnaryReactor* DefaultReactor();
  /// The messages of a unary call; null for other calls.
  RpcAllocatorState* GetRpcAllocatorState() { return allocator_; }

 private:
  template <class Request, class Reply>
  friend class internal::callback_unary;
  std::unique_ptr<ServerUnaryReactor> default_;
  RpcAllocatorState* allocator_ = nullptr;
};

class GenericCallbackServerContext;

/// Where a server of grpc++ has the contexts of its callbacks; see ServerBuilder::SetContextAllocator().
class ContextAllocator {
 public:
  virtual ~ContextAllocator() = default;
  virtual CallbackServerContext* NewCallbackServerContext() { return nullptr; }
  virtual GenericCallbackServerContext* NewGenericCallbackServerContext() { return nullptr; }
  virtual void Release(CallbackServerContext* /*context*/) {}
  virtual void Release(GenericCallbackServerContext* /*context*/) {}
};

namespace experimental {

// Older programs name these here.
using grpc::CallbackServerContext;
using grpc::ContextAllocator;

}  // namespace experimental
}  // namespace grpc
