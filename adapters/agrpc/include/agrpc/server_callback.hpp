// server_callback: RPCs of a server by the callback API of grpc++, whose events are waited for.
//
// They need no GrpcContext: grpc++ calls back on threads of its own, and waits complete on any executor.
#pragma once

#include "agrpc/impl/library.hpp"
#include "agrpc/impl/reactor.hpp"
#include "agrpc/reactor_ptr.hpp"

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <utility>

namespace agrpc::inline CORACLE_ASIO {

namespace internal {

template <class Executor>
class server_reactor : public reactor<Executor> {
 protected:
  using token_type = typename reactor<Executor>::token_type;

 public:
  template <class Token = token_type>
  auto wait_for_send_initial_metadata(Token&& token = Token()) {
    return this->wait(initial_metadata_, std::forward<Token>(token));
  }
  /// Ends the RPC; once. The response of a method with one is sent if the status is OK.
  void initiate_finish(grpc::Status status) {
    finished_ = true;
    finish_with(std::move(status));
  }
  /// Waits for the end of the RPC. Signature: `void(error_code, bool)`, with false if the client was gone before; this is
  /// told before initiate_finish(), which still follows.
  template <class Token = token_type>
  auto wait_for_finish(Token&& token = Token()) {
    return this->wait(finish_, std::forward<Token>(token));
  }

 protected:
  // grpc++ keeps the reactor until done(): the program's part may end before get() is called.
  server_reactor() noexcept { this->hold(); }
  // initiate_write_and_finish()
  void finished_by_write() noexcept { finished_ = true; }
  void initial_metadata_done(bool ok) { initial_metadata_.set(ok); }
  void cancelled() {
    cancelled_ = true;
    finish_.set(false);
  }
  // The last event.
  void done() {
    finish_.set(!cancelled_);
    this->release();
  }

 private:
  friend class reactor_access;
  virtual void finish_with(grpc::Status status) = 0;
  void finish_once(grpc::Status status) {
    if (!finished_.exchange(true)) finish_with(std::move(status));
  }
  void users_gone() final { finish_once(grpc::Status(grpc::StatusCode::CANCELLED, "the handler has ended")); }
  std::atomic<bool> finished_ = false;
  std::atomic<bool> cancelled_ = false;
  manual_event<bool> initial_metadata_;
  manual_event<bool> finish_;
};

}  // namespace internal

/// A unary RPC. Where the response is there when the method returns, grpc::CallbackServerContext::DefaultReactor() does.
///
/// This class and those below are made by make_reactor() in a method of a callback service, which returns `get()`. The names
/// that end in `Base` are for classes that derive from them, which have a default constructor here.
///
/// What is started by an `initiate_` function is waited for by the `wait_for_` function of the same name. One read and one
/// write may be in progress; messages outlive the operations. Signatures: `void(error_code, bool)`, with false if the RPC
/// has ended. An error is operation_aborted: a cancellation, of any type, ends a wait, and neither the operation nor
/// the RPC, for which there is `TryCancel()` of the context. Waits complete on the executor of the handler, or that of the
/// reactor.
///
/// When the last pointer to the reactor has gone before the RPC was finished, it is finished with CANCELLED. The reactor exists
/// until grpc++ has done with it, so the method must return it.
template <class Executor>
class BasicServerUnaryReactor : private grpc::ServerUnaryReactor, public internal::server_reactor<Executor> {
 public:
  template <class OtherExecutor>
  struct rebind_executor {
    using other = BasicServerUnaryReactor<OtherExecutor>;
  };

  /// What the method returns. The caller uses nothing of it.
  [[nodiscard]] grpc::ServerUnaryReactor* get() noexcept { return this; }
  /// Sends the initial metadata of the context before the response.
  void initiate_send_initial_metadata() { this->StartSendInitialMetadata(); }

 protected:
  BasicServerUnaryReactor() = default;

 private:
  void finish_with(grpc::Status status) final { this->Finish(std::move(status)); }
  void OnSendInitialMetadataDone(bool ok) final { this->initial_metadata_done(ok); }
  void OnCancel() final { this->cancelled(); }
  void OnDone() final { this->done(); }
};

/// An RPC with one response and a stream of requests.
template <class Request, class Executor>
class BasicServerReadReactor : private grpc::ServerReadReactor<Request>,
                               public internal::server_reactor<Executor> {
  using token_type = typename internal::server_reactor<Executor>::token_type;

 public:
  template <class OtherExecutor>
  struct rebind_executor {
    using other = BasicServerReadReactor<Request, OtherExecutor>;
  };

  /// What the method returns. The caller uses nothing of it.
  [[nodiscard]] grpc::ServerReadReactor<Request>* get() noexcept { return this; }
  /// Sends the initial metadata of the context before the response.
  void initiate_send_initial_metadata() { this->StartSendInitialMetadata(); }
  void initiate_read(Request& message) {
    read_.clear();
    this->StartRead(&message);
  }
  template <class Token = token_type>
  auto wait_for_read(Token&& token = Token()) {
    return this->wait(read_, std::forward<Token>(token));
  }

 protected:
  BasicServerReadReactor() = default;

 private:
  void finish_with(grpc::Status status) final { this->Finish(std::move(status)); }
  void OnSendInitialMetadataDone(bool ok) final { this->initial_metadata_done(ok); }
  void OnReadDone(bool ok) final { read_.set(ok); }
  void OnCancel() final { this->cancelled(); }
  void OnDone() final { this->done(); }
  internal::manual_event<bool> read_;
};

/// An RPC with one request and a stream of responses.
template <class Response, class Executor>
class BasicServerWriteReactor : private grpc::ServerWriteReactor<Response>,
                                public internal::server_reactor<Executor> {
  using token_type = typename internal::server_reactor<Executor>::token_type;

 public:
  template <class OtherExecutor>
  struct rebind_executor {
    using other = BasicServerWriteReactor<Response, OtherExecutor>;
  };

  /// What the method returns. The caller uses nothing of it.
  [[nodiscard]] grpc::ServerWriteReactor<Response>* get() noexcept { return this; }
  /// Sends the initial metadata of the context before the first response.
  void initiate_send_initial_metadata() { this->StartSendInitialMetadata(); }
  /// With options: set_last_message() has the message sent together with the status.
  void initiate_write(const Response& response, grpc::WriteOptions options = {}) {
    write_.clear();
    this->StartWrite(&response, options);
  }
  template <class Token = token_type>
  auto wait_for_write(Token&& token = Token()) {
    return this->wait(write_, std::forward<Token>(token));
  }
  /// Writes the last response and ends the RPC, which wait_for_finish() waits for.
  void initiate_write_and_finish(const Response& response, grpc::Status status,
                                 grpc::WriteOptions options = {}) {
    this->finished_by_write();
    this->StartWriteAndFinish(&response, options, std::move(status));
  }

 protected:
  BasicServerWriteReactor() = default;

 private:
  void finish_with(grpc::Status status) final { this->Finish(std::move(status)); }
  void OnSendInitialMetadataDone(bool ok) final { this->initial_metadata_done(ok); }
  void OnWriteDone(bool ok) final { write_.set(ok); }
  void OnCancel() final { this->cancelled(); }
  void OnDone() final { this->done(); }
  internal::manual_event<bool> write_;
};

/// An RPC with a stream of requests and a stream of responses.
template <class Request, class Response, class Executor>
class BasicServerBidiReactor : private grpc::ServerBidiReactor<Request, Response>,
                               public internal::server_reactor<Executor> {
  using token_type = typename internal::server_reactor<Executor>::token_type;

 public:
  template <class OtherExecutor>
  struct rebind_executor {
    using other = BasicServerBidiReactor<Request, Response, OtherExecutor>;
  };

  /// What the method returns. The caller uses nothing of it.
  [[nodiscard]] grpc::ServerBidiReactor<Request, Response>* get() noexcept { return this; }
  /// Sends the initial metadata of the context before the first response.
  void initiate_send_initial_metadata() { this->StartSendInitialMetadata(); }
  void initiate_read(Request& message) {
    read_.clear();
    this->StartRead(&message);
  }
  template <class Token = token_type>
  auto wait_for_read(Token&& token = Token()) {
    return this->wait(read_, std::forward<Token>(token));
  }
  /// With options: set_last_message() has the message sent together with the status.
  void initiate_write(const Response& response, grpc::WriteOptions options = {}) {
    write_.clear();
    this->StartWrite(&response, options);
  }
  template <class Token = token_type>
  auto wait_for_write(Token&& token = Token()) {
    return this->wait(write_, std::forward<Token>(token));
  }
  /// Writes the last response and ends the RPC, which wait_for_finish() waits for.
  void initiate_write_and_finish(const Response& response, grpc::Status status,
                                 grpc::WriteOptions options = {}) {
    this->finished_by_write();
    this->StartWriteAndFinish(&response, options, std::move(status));
  }

 protected:
  BasicServerBidiReactor() = default;

 private:
  void finish_with(grpc::Status status) final { this->Finish(std::move(status)); }
  void OnSendInitialMetadataDone(bool ok) final { this->initial_metadata_done(ok); }
  void OnReadDone(bool ok) final { read_.set(ok); }
  void OnWriteDone(bool ok) final { write_.set(ok); }
  void OnCancel() final { this->cancelled(); }
  void OnDone() final { this->done(); }
  internal::manual_event<bool> read_;
  internal::manual_event<bool> write_;
};

using ServerUnaryReactor = BasicServerUnaryReactor<asio::any_io_executor>;
template <class Request>
using ServerReadReactor = BasicServerReadReactor<Request, asio::any_io_executor>;
template <class Response>
using ServerWriteReactor = BasicServerWriteReactor<Response, asio::any_io_executor>;
template <class Request, class Response>
using ServerBidiReactor = BasicServerBidiReactor<Request, Response, asio::any_io_executor>;

template <class Executor>
using BasicServerUnaryReactorBase = BasicServerUnaryReactor<Executor>;
template <class Request, class Executor>
using BasicServerReadReactorBase = BasicServerReadReactor<Request, Executor>;
template <class Response, class Executor>
using BasicServerWriteReactorBase = BasicServerWriteReactor<Response, Executor>;
template <class Request, class Response, class Executor>
using BasicServerBidiReactorBase = BasicServerBidiReactor<Request, Response, Executor>;

using ServerUnaryReactorBase = ServerUnaryReactor;
template <class Request>
using ServerReadReactorBase = ServerReadReactor<Request>;
template <class Response>
using ServerWriteReactorBase = ServerWriteReactor<Response>;
template <class Request, class Response>
using ServerBidiReactorBase = ServerBidiReactor<Request, Response>;

}  // namespace agrpc::inline CORACLE_ASIO
