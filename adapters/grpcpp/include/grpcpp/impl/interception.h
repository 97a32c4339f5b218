// call_interception: the interceptors of one call, and the batches that they see.
#pragma once

#include <grpcpp/impl/channel_interface.h>
#include <grpcpp/impl/proto_utils.h>
#include <grpcpp/support/interceptor.h>
#include <grpcpp/support/status.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace grpc {

class ClientContext;

namespace internal {

class RpcMethod;
class interceptor_batch;

// Runs them on threads of the program. The interceptors before an operation run in their order, those after
// it in the reverse order. Batches of operations that are pending together may run at the same time.
class call_interception {
 public:
  using hook = experimental::InterceptionHookPoints;
  virtual ~call_interception() = default;
  // Takes and gives back the metadata of the context. `then` is called when all interceptors have let the
  // batch go on: before the function returns, or by the thread of the last Proceed(). It may destroy the batch.
  void before(interceptor_batch& b, std::function<void()> then);
  void after(interceptor_batch& b, std::function<void()> then);
  // The same, and wait for it.
  void before(interceptor_batch& b);
  void after(interceptor_batch& b);
  // All interceptors see TryCancel(), which waits for none of them.
  void cancelled();
  // Whether an interceptor gives what is received, and nothing is sent.
  [[nodiscard]] bool hijacked() const { return hijacker_ != none; }

  // Whether this is the first batch that sends, or receives, initial metadata.
  [[nodiscard]] bool first_send() { return !std::exchange(sent_, true); }
  [[nodiscard]] bool first_receive() { return !std::exchange(received_, true); }

  // An end of a write that is reported after the next batch has begun: that of the last message of a server.
  std::unique_ptr<interceptor_batch> pending;

 protected:
  friend class interceptor_batch;
  virtual void take_metadata(interceptor_batch& b) = 0;
  virtual void give_metadata(interceptor_batch& b) = 0;
  virtual std::unique_ptr<ChannelInterface> channel_after(std::size_t position) = 0;
  std::vector<std::unique_ptr<experimental::Interceptor>> interceptors_;

 private:
  static constexpr std::size_t none = ~std::size_t{0};
  // Runs interceptors until one of them does not let the batch go on yet.
  void go_on(interceptor_batch& b);
  // Sets the interceptor that runs next. False: there is none any more.
  [[nodiscard]] bool find_next(interceptor_batch& b);
  std::size_t hijacker_ = none;
  bool sent_ = false;
  bool received_ = false;
};

// One batch. The call fills in what it is about, and reads what interceptors have made of it.
class interceptor_batch final : public experimental::InterceptorBatchMethods {
 public:
  using hook = experimental::InterceptionHookPoints;
  void add(hook point) { points_ |= 1u << static_cast<unsigned>(point); }
  void clear() { points_ = 0; }
  template <class Message>
  void send(const Message& message) {
    message_ = &message;
    serialize_ = [](const void* m, std::string& to) { return to_bytes<Message>(*static_cast<const Message*>(m), to); };
    add(hook::PRE_SEND_MESSAGE);
    sends_message_ = true;
  }
  void send(const void* message, Status (*serialize)(const void*, std::string&)) {
    message_ = message;
    serialize_ = serialize;
    add(hook::PRE_SEND_MESSAGE);
    sends_message_ = true;
  }
  // A message that was serialized already, because the program may destroy it; `serialize` is for another one.
  // As with grpc++, there is no POST_SEND_MESSAGE.
  void send(std::string&& bytes, Status (*serialize)(const void*, std::string&)) {
    send(nullptr, serialize);
    serialized_ = ByteBuffer::own(std::move(bytes));
    sends_message_ = false;
  }
  // After before(): what is sent.
  Status take_bytes(std::string& to);
  [[nodiscard]] bool send_failed() const { return send_failed_; }
  void set_sent(bool ok) {
    if (!sends_message_) return;
    add(hook::POST_SEND_MESSAGE);
    send_failed_ = !ok;
  }
  void receive(void* into) { receives_ = into; }
  [[nodiscard]] bool receive_failed() const { return receive_failed_; }
  void set_received(bool ok) {
    add(hook::POST_RECV_MESSAGE);
    if (!ok) receives_ = nullptr;
  }

  Status status;  // that is sent or was received
  bool sends_initial = false;
  bool receives_initial = false;
  bool receives_message = false;
  bool receives_status = false;
  std::multimap<std::string, std::string> initial;
  std::multimap<std::string, std::string> trailing;
  std::multimap<string_ref, string_ref>* received_initial = nullptr;
  std::multimap<string_ref, string_ref>* received_trailing = nullptr;
  std::multimap<string_ref, string_ref> no_pairs;  // of a call that has failed without metadata

  bool QueryInterceptionHookPoint(hook type) override { return (points_ >> static_cast<unsigned>(type)) & 1u; }
  void Proceed() override;
  void Hijack() override;
  ByteBuffer* GetSerializedSendMessage() override;
  const void* GetSendMessage() override { return message_; }
  void ModifySendMessage(const void* message) override {
    message_ = message;
    serialized_.Clear();
  }
  bool GetSendMessageStatus() override { return !send_failed_; }
  std::multimap<std::string, std::string>* GetSendInitialMetadata() override { return &initial; }
  Status GetSendStatus() override { return status; }
  void ModifySendStatus(const Status& s) override { status = s; }
  std::multimap<std::string, std::string>* GetSendTrailingMetadata() override { return &trailing; }
  void* GetRecvMessage() override { return receives_; }
  std::multimap<string_ref, string_ref>* GetRecvInitialMetadata() override { return received_initial; }
  Status* GetRecvStatus() override { return &status; }
  std::multimap<string_ref, string_ref>* GetRecvTrailingMetadata() override { return received_trailing; }
  std::unique_ptr<ChannelInterface> GetInterceptedChannel() override { return of_->channel_after(index_ + 1); }
  void FailHijackedRecvMessage() override { receive_failed_ = true; }
  void FailHijackedSendMessage() override { send_failed_ = true; }

 private:
  friend class call_interception;
  enum class turn : unsigned char { entered, left, let_go };  // of Intercept(): let_go by Proceed()
  static constexpr std::size_t before_first = ~std::size_t{0};
  call_interception* of_ = nullptr;
  std::function<void()> then_;
  std::atomic<turn> turn_{turn::entered};
  bool backwards_ = false;
  std::uint32_t points_ = 0;
  std::size_t index_ = 0;
  bool hijacks_ = false;
  bool answers_ = false;  // the interceptor that has hijacked the call gives what is received
  const void* message_ = nullptr;
  Status (*serialize_)(const void* message, std::string& to) = nullptr;
  ByteBuffer serialized_;
  bool sends_message_ = false;
  bool send_failed_ = false;
  void* receives_ = nullptr;
  bool receive_failed_ = false;
};

// Null if no interceptors see the calls of the channel.
std::shared_ptr<call_interception> intercept_call(ChannelInterface* channel, const RpcMethod& method, ClientContext* context);

}  // namespace internal
}  // namespace grpc
