// relay: passes any call on to another server, and what comes of it back.
#pragma once

#include <coracle/client.hpp>
#include <coracle/client/generic_stub.hpp>
#include <coracle/server.hpp>
#include <coracle/server/generic_service.hpp>

#include <string>
#include <utility>

namespace examples {

// Knows no .proto: messages are bytes. Deadline and cancellation pass on by themselves, since a call that a handler
// makes inherits them; metadata, status and trailers are passed on here.
class relay final : public coracle::generic_service {
 public:
  explicit relay(coracle::channel next) : next_(std::move(next)) {}

  // --8<-- [start:relay]
  coracle::replies<coracle::bytes_message> call(coracle::server_context& context,
                                                coracle::reader<coracle::bytes_message> requests) override {
    const std::string path(context.method());
    coracle::call_options options;
    options.metadata.add_all(context.metadata());
    options.content_subtype = context.content_subtype();
    onward_call onward = next_.bidi(path.c_str(), options);
    coracle::scope work{context.environment()};
    work.spawn(pass_on(requests, onward));

    auto replies = co_await coracle::replies<coracle::bytes_message>::writer();
    // Nothing from here on leaves the handler as an exception: `work` is to be joined. A client may wait for this before it
    // says anything.
    const coracle::status head = co_await onward.wait_for_initial_metadata();
    if (head.ok()) {
      context.initial_metadata().add_all(onward.initial_metadata());
      context.send_initial_metadata();
    }
    try {
      for (;;) {
        const auto reply = co_await onward.next();
        if (!reply.ok() || !*reply) break;
        co_await replies.write(**reply);
      }
    } catch (const coracle::call_ended&) {
      // The client's call is over, and the handler is stopped.
    }
    const coracle::status outcome = co_await onward.finish();
    work.request_stop();
    co_await work.join();
    context.trailing_metadata().add_all(onward.trailing_metadata());
    co_return outcome;
  }
  // --8<-- [end:relay]

 private:
  using onward_call = coracle::bidi_call<coracle::bytes_message, coracle::bytes_message>;

  static coracle::task<> pass_on(coracle::reader<coracle::bytes_message> requests, onward_call& onward) {
    coracle::bytes_message request;
    try {
      while (co_await requests.read(request)) {
        const coracle::status sent = co_await onward.write(request);
        if (!sent.ok()) co_return;  // the onward call is over: finish() has its status
      }
      co_await onward.writes_done();
    } catch (const coracle::call_ended&) {
      // The client's call is over, and the handler is stopped.
    }
  }

  coracle::generic_stub next_;
};

}  // namespace examples
