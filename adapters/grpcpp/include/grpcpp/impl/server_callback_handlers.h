// The handlers of methods in the callback API, as the constructors of generated services make them.
#pragma once

#include <grpcpp/impl/proto_utils.h>
#include <grpcpp/impl/server_callback_call.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/message_allocator.h>
#include <grpcpp/impl/guarded.h>
#include <grpcpp/support/server_callback.h>
#include <grpcpp/support/status.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace grpc::internal {

// A reactor, or null: the function has none, or has thrown.
template <class Function>
auto reactor_of(Function&& function) noexcept -> decltype(function()) {
  return guarded(function, []() -> decltype(function()) { return nullptr; });
}

inline Status no_reactor() { return Status(StatusCode::UNIMPLEMENTED, ""); }

// The messages of a unary call that has no allocator.
template <class Request, class Reply>
class own_messages final : public MessageHolder<Request, Reply> {
 public:
  own_messages() {
    this->set_request(&request_);
    this->set_response(&reply_);
  }
  void Release() override {}

 private:
  Request request_;
  Reply reply_;
};

template <class Request, class Reply>
class callback_unary final : public ServerCallbackUnary, public server_callback_call {
 public:
  using function = std::function<ServerUnaryReactor*(CallbackServerContext*, const Request*, Reply*)>;
  callback_unary(callback_call_seed&& seed, const function& f, MessageAllocator<Request, Reply>* allocator)
      : server_callback_call(std::move(seed), context_), function_(f) {
    if (allocator) messages_ = allocator->AllocateMessages();
    else messages_ = &own_.emplace();
    context_.allocator_ = messages_;
  }
  ~callback_unary() override { messages_->Release(); }
  callback_unary(const callback_unary&) = delete;
  callback_unary& operator=(const callback_unary&) = delete;

  void SendInitialMetadata() override { send_initial_metadata(); }
  void Finish(Status s) override {
    if (s.ok()) finish(serialized_message::of_lasting<Reply>(*messages_->response()));
    else finish(s);
  }

 private:
  bool parse_request() override {
    return from_bytes<Request>(take_request(), *messages_->request()).ok();
  }
  void* request() override { return messages_->request(); }
  void open() override {
    if (parsed())
      reactor_ =
          reactor_of([this] { return function_(&context_, messages_->request(), messages_->response()); });
    if (reactor_) BindReactor(reactor_);
    else finish(no_reactor());
    opened();
  }
  void initial_metadata_sent(bool ok) override { reactor_->OnSendInitialMetadataDone(ok); }
  void cancelled() override {
    if (reactor_) reactor_->OnCancel();
  }
  void done() override {
    if (reactor_) reactor_->OnDone();
  }

  const function& function_;
  CallbackServerContext context_;
  std::optional<own_messages<Request, Reply>> own_;
  MessageHolder<Request, Reply>* messages_;
  ServerUnaryReactor* reactor_ = nullptr;
};

template <class Request, class Reply>
class callback_requests final : public ServerCallbackReader<Request>, public server_callback_call {
 public:
  using function = std::function<ServerReadReactor<Request>*(CallbackServerContext*, Reply*)>;
  callback_requests(callback_call_seed&& seed, const function& f)
      : server_callback_call(std::move(seed), context_), function_(f) {}

  void SendInitialMetadata() override { send_initial_metadata(); }
  void Read(Request* message) override {
    into_ = message;
    start_read(message);
  }
  void Finish(Status s) override {
    if (s.ok()) finish(serialized_message::of_lasting<Reply>(reply_));
    else finish(s);
  }

 private:
  void open() override {
    reactor_ = reactor_of([this] { return function_(&context_, &reply_); });
    if (reactor_) this->BindReactor(reactor_);
    else finish(no_reactor());
    opened();
  }
  void initial_metadata_sent(bool ok) override { reactor_->OnSendInitialMetadataDone(ok); }
  bool take_message(std::string&& bytes) override { return from_bytes<Request>(std::move(bytes), *into_).ok(); }
  void read_done(bool ok) override { reactor_->OnReadDone(ok); }
  void cancelled() override {
    if (reactor_) reactor_->OnCancel();
  }
  void done() override {
    if (reactor_) reactor_->OnDone();
  }

  const function& function_;
  CallbackServerContext context_;
  Reply reply_;
  Request* into_ = nullptr;
  ServerReadReactor<Request>* reactor_ = nullptr;
};

template <class Request, class Reply>
class callback_replies final : public ServerCallbackWriter<Reply>, public server_callback_call {
 public:
  using function = std::function<ServerWriteReactor<Reply>*(CallbackServerContext*, const Request*)>;
  callback_replies(callback_call_seed&& seed, const function& f)
      : server_callback_call(std::move(seed), context_), function_(f) {}

  void SendInitialMetadata() override { send_initial_metadata(); }
  void Write(const Reply* message, WriteOptions options) override {
    start_write(serialized_message::of_lasting<Reply>(*message), options);
  }
  void WriteAndFinish(const Reply* message, WriteOptions options, Status outcome) override {
    finish_with_last(serialized_message::of_lasting<Reply>(*message), options, outcome);
  }
  void Finish(Status s) override { finish(s); }

 private:
  bool parse_request() override { return from_bytes<Request>(take_request(), request_).ok(); }
  void* request() override { return &request_; }
  void open() override {
    if (parsed()) reactor_ = reactor_of([this] { return function_(&context_, &request_); });
    if (reactor_) this->BindReactor(reactor_);
    else finish(no_reactor());
    opened();
  }
  void initial_metadata_sent(bool ok) override { reactor_->OnSendInitialMetadataDone(ok); }
  void write_done(bool ok) override { reactor_->OnWriteDone(ok); }
  void cancelled() override {
    if (reactor_) reactor_->OnCancel();
  }
  void done() override {
    if (reactor_) reactor_->OnDone();
  }

  const function& function_;
  CallbackServerContext context_;
  Request request_;
  ServerWriteReactor<Reply>* reactor_ = nullptr;
};

// Context: CallbackServerContext, or that of a generic service.
template <class Request, class Reply, class Context = CallbackServerContext>
class callback_stream final : public ServerCallbackReaderWriter<Request, Reply>, public server_callback_call {
 public:
  using function = std::function<ServerBidiReactor<Request, Reply>*(Context*)>;
  template <class... Arguments>
  callback_stream(callback_call_seed&& seed, const function& f, Arguments&&... of_context)
      : server_callback_call(std::move(seed), context_),
        function_(f),
        context_(std::forward<Arguments>(of_context)...) {}

  void SendInitialMetadata() override { send_initial_metadata(); }
  void Read(Request* message) override {
    into_ = message;
    start_read(message);
  }
  void Write(const Reply* message, WriteOptions options) override {
    start_write(serialized_message::of_lasting<Reply>(*message), options);
  }
  void WriteAndFinish(const Reply* message, WriteOptions options, Status outcome) override {
    finish_with_last(serialized_message::of_lasting<Reply>(*message), options, outcome);
  }
  void Finish(Status s) override { finish(s); }

 private:
  void open() override {
    reactor_ = reactor_of([this] { return function_(&context_); });
    if (reactor_) this->BindReactor(reactor_);
    else finish(no_reactor());
    opened();
  }
  void initial_metadata_sent(bool ok) override { reactor_->OnSendInitialMetadataDone(ok); }
  bool take_message(std::string&& bytes) override { return from_bytes<Request>(std::move(bytes), *into_).ok(); }
  void read_done(bool ok) override { reactor_->OnReadDone(ok); }
  void write_done(bool ok) override { reactor_->OnWriteDone(ok); }
  void cancelled() override {
    if (reactor_) reactor_->OnCancel();
  }
  void done() override {
    if (reactor_) reactor_->OnDone();
  }

  const function& function_;
  Context context_;
  Request* into_ = nullptr;
  ServerBidiReactor<Request, Reply>* reactor_ = nullptr;
};

template <class Request, class Reply>
class CallbackUnaryHandler : public callback_handler {
 public:
  using function = typename callback_unary<Request, Reply>::function;
  explicit CallbackUnaryHandler(function f) : function_(std::move(f)) {}
  /// Takes no ownership.
  void SetMessageAllocator(MessageAllocator<Request, Reply>* allocator) { allocator_ = allocator; }
  void begin(callback_call_seed&& seed) override {
    (new callback_unary<Request, Reply>(std::move(seed), function_, allocator_))->start();
  }

 private:
  function function_;
  MessageAllocator<Request, Reply>* allocator_ = nullptr;
};

// Of a method with a stream. Call: one of the classes above.
template <class Call>
class callback_stream_handler final : public callback_handler {
 public:
  explicit callback_stream_handler(typename Call::function f) : function_(std::move(f)) {}
  void begin(callback_call_seed&& seed) override { (new Call(std::move(seed), function_))->start(); }

 private:
  typename Call::function function_;
};

template <class Request, class Reply>
using CallbackClientStreamingHandler = callback_stream_handler<callback_requests<Request, Reply>>;
template <class Request, class Reply>
using CallbackServerStreamingHandler = callback_stream_handler<callback_replies<Request, Reply>>;
template <class Request, class Reply>
using CallbackBidiHandler = callback_stream_handler<callback_stream<Request, Reply>>;

}  // namespace grpc::internal
