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

// What calls of all kinds have. Control: what the reactor calls. Context: CallbackServerContext, or that of a
// generic service.
template <class Control, class Reactor, class Context = CallbackServerContext>
class callback_call : public Control, public server_callback_call {
 public:
  template <class... Arguments>
  explicit callback_call(callback_call_seed&& seed, Arguments&&... of_context)
      : server_callback_call(std::move(seed), context_), context_(std::forward<Arguments>(of_context)...) {}

  void SendInitialMetadata() override { send_initial_metadata(); }

 protected:
  Context& context() noexcept { return context_; }
  Reactor& reactor() noexcept { return *reactor_; }
  // The end of a call with one reply.
  template <class Reply>
  void finish_with_reply(const Status& s, const Reply& reply) {
    if (s.ok()) finish(serialized_message::of_lasting<Reply>(reply));
    else finish(s);
  }

 private:
  // Calls the function of the method.
  virtual Reactor* make_reactor() = 0;
  void open() override {
    if (parsed()) reactor_ = reactor_of([this] { return make_reactor(); });
    if (reactor_) this->BindReactor(reactor_);
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

  Context context_;
  Reactor* reactor_ = nullptr;
};

// A call with a stream of requests. Call: callback_call, or the following one.
template <class Call, class Request>
class with_requests : public Call {
 public:
  using Call::Call;
  void Read(Request* message) override {
    into_ = message;
    this->start_read(message);
  }

 private:
  bool take_message(std::string&& bytes) override { return from_bytes<Request>(std::move(bytes), *into_).ok(); }
  void read_done(bool ok) override { this->reactor().OnReadDone(ok); }
  Request* into_ = nullptr;
};

// A call with a stream of replies.
template <class Call, class Reply>
class with_replies : public Call {
 public:
  using Call::Call;
  void Write(const Reply* message, WriteOptions options) override {
    this->start_write(serialized_message::of_lasting<Reply>(*message), options);
  }
  void WriteAndFinish(const Reply* message, WriteOptions options, Status outcome) override {
    this->finish_with_last(serialized_message::of_lasting<Reply>(*message), options, outcome);
  }
  void Finish(Status s) override { this->finish(s); }

 private:
  void write_done(bool ok) override { this->reactor().OnWriteDone(ok); }
};

template <class Request, class Reply>
class callback_unary final : public callback_call<ServerCallbackUnary, ServerUnaryReactor> {
 public:
  using function = std::function<ServerUnaryReactor*(CallbackServerContext*, const Request*, Reply*)>;
  callback_unary(callback_call_seed&& seed, const function& f, MessageAllocator<Request, Reply>* allocator)
      : callback_call(std::move(seed)), function_(f) {
    if (allocator) messages_ = allocator->AllocateMessages();
    else messages_ = &own_.emplace();
    context().allocator_ = messages_;
  }
  ~callback_unary() override { messages_->Release(); }
  callback_unary(const callback_unary&) = delete;
  callback_unary& operator=(const callback_unary&) = delete;

  void Finish(Status s) override { finish_with_reply<Reply>(s, *messages_->response()); }

 private:
  bool parse_request() override {
    return from_bytes<Request>(take_request(), *messages_->request()).ok();
  }
  void* request() override { return messages_->request(); }
  ServerUnaryReactor* make_reactor() override {
    return function_(&context(), messages_->request(), messages_->response());
  }

  const function& function_;
  std::optional<own_messages<Request, Reply>> own_;
  MessageHolder<Request, Reply>* messages_;
};

template <class Request>
using callback_requests_base = with_requests<callback_call<ServerCallbackReader<Request>, ServerReadReactor<Request>>, Request>;

template <class Request, class Reply>
class callback_requests final : public callback_requests_base<Request> {
 public:
  using function = std::function<ServerReadReactor<Request>*(CallbackServerContext*, Reply*)>;
  callback_requests(callback_call_seed&& seed, const function& f)
      : callback_requests_base<Request>(std::move(seed)), function_(f) {}

  void Finish(Status s) override { this->template finish_with_reply<Reply>(s, reply_); }

 private:
  ServerReadReactor<Request>* make_reactor() override { return function_(&this->context(), &reply_); }

  const function& function_;
  Reply reply_;
};

template <class Reply>
using callback_replies_base = with_replies<callback_call<ServerCallbackWriter<Reply>, ServerWriteReactor<Reply>>, Reply>;

template <class Request, class Reply>
class callback_replies final : public callback_replies_base<Reply> {
 public:
  using function = std::function<ServerWriteReactor<Reply>*(CallbackServerContext*, const Request*)>;
  callback_replies(callback_call_seed&& seed, const function& f)
      : callback_replies_base<Reply>(std::move(seed)), function_(f) {}

 private:
  bool parse_request() override { return from_bytes<Request>(this->take_request(), request_).ok(); }
  void* request() override { return &request_; }
  ServerWriteReactor<Reply>* make_reactor() override { return function_(&this->context(), &request_); }

  const function& function_;
  Request request_;
};

template <class Request, class Reply, class Context>
using callback_stream_base = with_requests<
    with_replies<
        callback_call<ServerCallbackReaderWriter<Request, Reply>, ServerBidiReactor<Request, Reply>, Context>,
        Reply>,
    Request>;

template <class Request, class Reply, class Context = CallbackServerContext>
class callback_stream final : public callback_stream_base<Request, Reply, Context> {
 public:
  using function = std::function<ServerBidiReactor<Request, Reply>*(Context*)>;
  template <class... Arguments>
  callback_stream(callback_call_seed&& seed, const function& f, Arguments&&... of_context)
      : callback_stream_base<Request, Reply, Context>(std::move(seed), std::forward<Arguments>(of_context)...),
        function_(f) {}

 private:
  ServerBidiReactor<Request, Reply>* make_reactor() override { return function_(&this->context()); }

  const function& function_;
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
