// Interceptor: code of the program that runs at hook points of calls.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>
#include <grpcpp/support/string_ref.h>

#include <map>
#include <memory>
#include <string>

namespace grpc {

class ChannelInterface;

namespace experimental {

/// Where interceptors run: before and after what is sent, and after what was received. PRE_RECV points are
/// for interceptors that have hijacked the call: there they give what is received.
enum class InterceptionHookPoints {
  PRE_SEND_INITIAL_METADATA,
  PRE_SEND_MESSAGE,
  POST_SEND_MESSAGE,
  PRE_SEND_STATUS,  ///< servers
  PRE_SEND_CLOSE,   ///< clients: the end of their messages
  PRE_RECV_INITIAL_METADATA,
  PRE_RECV_MESSAGE,
  PRE_RECV_STATUS,
  POST_RECV_INITIAL_METADATA,
  POST_RECV_MESSAGE,
  POST_RECV_STATUS,  ///< clients
  POST_RECV_CLOSE,   ///< servers: the call has ended
  PRE_SEND_CANCEL,   ///< clients: TryCancel()
  NUM_INTERCEPTION_HOOKS
};

/// What an interceptor sees of one batch of operations. Valid until Proceed() or Hijack().
class InterceptorBatchMethods {
 public:
  virtual ~InterceptorBatchMethods() = default;
  /// Whether the batch is at this point. Several may be at once, and none at all.
  virtual bool QueryInterceptionHookPoint(InterceptionHookPoints type) = 0;
  /// Lets the batch go on. Each Intercept() calls it, or Hijack(), once, on any thread; the thread of the call
  /// waits for it.
  virtual void Proceed() = 0;
  /// Takes the call over, at PRE_SEND_INITIAL_METADATA of a client: nothing is sent, the interceptors after
  /// this one do not see the call, and this one gives all that is received.
  virtual void Hijack() = 0;

  /// The message in bytes. The program's message, until this is called, is GetSendMessage().
  virtual ByteBuffer* GetSerializedSendMessage() = 0;
  /// Null if the message was serialized.
  virtual const void* GetSendMessage() = 0;
  /// `message` has the type of the program's message, and lasts until the batch has ended.
  virtual void ModifySendMessage(const void* message) = 0;
  virtual bool GetSendMessageStatus() = 0;
  virtual std::multimap<std::string, std::string>* GetSendInitialMetadata() = 0;
  virtual Status GetSendStatus() = 0;
  virtual void ModifySendStatus(const Status& status) = 0;
  virtual std::multimap<std::string, std::string>* GetSendTrailingMetadata() = 0;
  /// Null if no message came.
  virtual void* GetRecvMessage() = 0;
  virtual std::multimap<string_ref, string_ref>* GetRecvInitialMetadata() = 0;
  virtual Status* GetRecvStatus() = 0;
  virtual std::multimap<string_ref, string_ref>* GetRecvTrailingMetadata() = 0;
  /// Clients: a channel whose calls pass the interceptors after this one only. Valid as long as the channel.
  virtual std::unique_ptr<ChannelInterface> GetInterceptedChannel() = 0;
  /// There is no message, or the message was not sent; for interceptors that have hijacked the call.
  virtual void FailHijackedRecvMessage() = 0;
  virtual void FailHijackedSendMessage() = 0;
};

/// One object for each call. Exceptions must not leave it.
class Interceptor {
 public:
  virtual ~Interceptor() = default;
  virtual void Intercept(InterceptorBatchMethods* methods) = 0;
};

}  // namespace experimental
}  // namespace grpc
