// ClientContext: the options of one call of a client, and what its server sent beside the messages.
#pragma once

#include <grpc/compression.h>
#include <grpc/impl/propagation_bits.h>
#include <grpcpp/impl/call_children.h>
#include <grpcpp/impl/metadata_map.h>
#include <grpcpp/impl/sync.h>  // IWYU pragma: export
#include <grpcpp/security/auth_context.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/config.h>
#include <grpcpp/support/status.h>
#include <grpcpp/support/time.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

struct census_context;
struct grpc_call;

namespace coracle {
struct connection_peer;
}

namespace grpc {

class ServerContextBase;
class CallbackServerContext;

/// What a call inherits from the call of a server; see ClientContext::FromServerContext(). Default: all.
class PropagationOptions {
 public:
  PropagationOptions& enable_deadline_propagation() { return set(GRPC_PROPAGATE_DEADLINE, true); }
  PropagationOptions& disable_deadline_propagation() { return set(GRPC_PROPAGATE_DEADLINE, false); }
  PropagationOptions& enable_cancellation_propagation() { return set(GRPC_PROPAGATE_CANCELLATION, true); }
  PropagationOptions& disable_cancellation_propagation() { return set(GRPC_PROPAGATE_CANCELLATION, false); }
  /// The census options have no effect.
  PropagationOptions& enable_census_stats_propagation() {
    return set(GRPC_PROPAGATE_CENSUS_STATS_CONTEXT, true);
  }
  PropagationOptions& disable_census_stats_propagation() {
    return set(GRPC_PROPAGATE_CENSUS_STATS_CONTEXT, false);
  }
  PropagationOptions& enable_census_tracing_propagation() {
    return set(GRPC_PROPAGATE_CENSUS_TRACING_CONTEXT, true);
  }
  PropagationOptions& disable_census_tracing_propagation() {
    return set(GRPC_PROPAGATE_CENSUS_TRACING_CONTEXT, false);
  }
  std::uint32_t c_bitmask() const { return bits_; }

 private:
  PropagationOptions& set(std::uint32_t bit, bool on) {
    bits_ = on ? bits_ | bit : bits_ & ~bit;
    return *this;
  }
  std::uint32_t bits_ = GRPC_PROPAGATE_DEFAULTS;
};

namespace testing {

class ClientContextTestPeer;

}  // namespace testing

namespace internal {

class call_interception;
struct client_context_access;  // private: src/client/client_context_access.hpp

// A call that TryCancel() can end. Called with the lock of the context.
class cancel_target {
 public:
  virtual void cancel() noexcept = 0;

 protected:
  ~cancel_target() = default;
};

}  // namespace internal

/// For one call. The setters come before the call, the getters of metadata after the operations that they
/// name. One thread at a time, but for TryCancel(). The object outlives the call.
class ClientContext {
 public:
  ClientContext();
  ClientContext(const ClientContext&) = delete;
  ClientContext& operator=(const ClientContext&) = delete;
  /// Cancels the call, if it has not ended.
  ~ClientContext();

  /// Makes the context of a call that a handler makes on behalf of its own: the call ends at the deadline of
  /// the handler's call at the latest, and is cancelled when that one ends. Metadata are not passed on.
  static std::unique_ptr<ClientContext> FromServerContext(const ServerContextBase& context,
                                                          PropagationOptions options = PropagationOptions());
  static std::unique_ptr<ClientContext> FromCallbackServerContext(
      const CallbackServerContext& context, PropagationOptions options = PropagationOptions());

  /// Adds a pair to the metadata that the call sends. Keys are in lower case; those that end in -bin have
  /// values of any bytes. A pair that breaks the rules makes the call fail.
  void AddMetadata(const std::string& key, const std::string& value) { sent_.emplace_back(key, value); }
  /// The initial metadata of the server: after the first message, or WaitForInitialMetadata(), or the end.
  const std::multimap<string_ref, string_ref>& GetServerInitialMetadata() const { return initial_.map(); }
  /// The metadata that came with the status: after the end.
  const std::multimap<string_ref, string_ref>& GetServerTrailingMetadata() const { return trailing_.map(); }

  /// Sets when the call ends at the latest. Default: never.
  template <typename T>
  void set_deadline(const T& deadline) {
    deadline_ = TimePoint<T>(deadline).raw_time();
  }
  std::chrono::system_clock::time_point deadline() const { return Timespec2Timepoint(raw_deadline()); }
  gpr_timespec raw_deadline() const { return deadline_ ? *deadline_ : gpr_inf_future(GPR_CLOCK_REALTIME); }
  /// Whether the call waits for a connection while there can be none, instead of failing at once.
  void set_wait_for_ready(bool wait) { wait_for_ready_ = wait; }
  void set_fail_fast(bool fail) { wait_for_ready_ = !fail; }
  /// Sets the :authority of the call. TLS verifies the server by the target of the channel all the same.
  void set_authority(const std::string& authority) { authority_ = authority; }
  void set_credentials(const std::shared_ptr<CallCredentials>& credentials) { credentials_ = credentials; }
  std::shared_ptr<CallCredentials> credentials() { return credentials_; }
  /// How sent messages are compressed. Default: as the channel says.
  void set_compression_algorithm(grpc_compression_algorithm algorithm) { compression_ = algorithm; }
  grpc_compression_algorithm compression_algorithm() const {
    return compression_.value_or(GRPC_COMPRESS_NONE);
  }
  /// true: by completion queues, the start of a call that writes has no event, and its tag is not used. The
  /// initial metadata leave with the first message if both are ready in the same turn, corked or not.
  void set_initial_metadata_corked(bool corked) { corked_ = corked; }
  /// The address of the server, as ServerContext::peer() has it, after the initial metadata or the end; empty
  /// before.
  std::string peer() const;
  /// The identity of the server, as peer(); never null.
  std::shared_ptr<const AuthContext> auth_context() const;
  /// Ends the call with CANCELLED. Any thread, at any time; a call that begins later ends at once.
  void TryCancel();
  /// The text of the status of the call.
  std::string debug_error_string() const { return failure_; }
  void set_census_context(::census_context* context)
      CORACLE_GRPCPP_MISSING("there is no census: coracle::client_observer");
  ::census_context* census_context() const
      CORACLE_GRPCPP_MISSING("there is no census: coracle::client_observer");
  grpc_call* c_call()
      CORACLE_GRPCPP_MISSING("there are no calls of the C library: the functions of this context");

  /// Is told of all contexts, from SetGlobalCallbacks() on.
  class GlobalCallbacks {
   public:
    virtual ~GlobalCallbacks() = default;
    virtual void DefaultConstructor(ClientContext* context) = 0;
    virtual void Destructor(ClientContext* context) = 0;
  };
  /// `callbacks` lasts until the process ends. Call it before there are contexts.
  static void SetGlobalCallbacks(GlobalCallbacks* callbacks);

 private:
  friend struct internal::client_context_access;
  friend class testing::ClientContextTestPeer;
  std::vector<std::pair<std::string, std::string>> sent_;
  std::optional<gpr_timespec> deadline_;
  std::optional<bool> wait_for_ready_;
  std::optional<grpc_compression_algorithm> compression_;
  std::shared_ptr<CallCredentials> credentials_;
  internal::metadata_map initial_;
  internal::metadata_map trailing_;
  std::string failure_;
  std::string authority_;
  std::optional<gpr_timespec> parent_deadline_;
  std::shared_ptr<internal::call_children> parent_;
  mutable std::mutex changing_;
  internal::cancel_target* active_ = nullptr;  // guarded by changing_, as is the next
  bool cancelled_ = false;
  bool corked_ = false;
  std::shared_ptr<const coracle::connection_peer> peer_;
  mutable std::shared_ptr<const AuthContext> auth_;
  std::shared_ptr<internal::call_interception> interception_;
  std::shared_ptr<void> stream_;  // the call of a stream, which lasts as long as the context
};

}  // namespace grpc
