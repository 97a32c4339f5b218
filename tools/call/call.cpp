// coracle call: one call of any kind; JSON in, JSON out, both directions live.
#include "tools/call/messages.hpp"
#include "tools/call/narrator.hpp"
#include "tools/call/request_source.hpp"
#include "tools/commands.hpp"
#include "tools/failure.hpp"
#include "tools/schema/session.hpp"
#include "tools/standard_output.hpp"

#include <coracle/coro/scope.hpp>
#include <coracle/rpc/generic_stub.hpp>
#include <coracle/runtime/offload.hpp>
#include <coracle/runtime/sync_wait.hpp>

#include <CLI/CLI.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace coracle::tools {

namespace {

namespace pb = google::protobuf;

// Any kind of method is a stream both ways on the wire.
using conversation = bidi_call<bytes_message, bytes_message>;

struct call_command {
  session at;
  std::string name;
  std::vector<std::string> data;
  bool verbose = false;

  int run() {
    const pb::MethodDescriptor& method = at.types().method(name);
    if (data.empty() && method.client_streaming()) data = {"-"};
    request_source requests(data, "{}");
    narrator tell(verbose);
    channel& server = at.server();
    tell.begins(at.where(), method, at.where().options().calls().metadata());
    const status how = sync_wait(at.on(), converse(server, method, requests, tell));
    return static_cast<int>(how.code());
  }

  // Messages are read and written on threads that may block: their types may have to be asked of the server.
  task<status> converse(channel& server, const pb::MethodDescriptor& method, request_source& requests,
                        narrator& tell) {
    const generic_stub stub(server);
    const messages typed(at.types(), method);
    const std::string path = path_of(method);
    conversation call = stub.bidi(path.c_str());
    std::exception_ptr slip;  // of the requests, or of what is done with the replies
    scope writing{co_await coro::this_environment()};
    writing.spawn(send_all(call, method, requests, tell, slip));
    const status headed = co_await call.wait_for_initial_metadata();
    if (headed.ok()) tell.head(call.initial_metadata());
    for (;;) {
      auto reply = co_await call.next_result();
      if (!reply.ok() || !reply->has_value()) break;
      const bytes_message& bytes = **reply;
      try {
        co_await offload([&] { show(typed, bytes, tell); });
      } catch (const failure&) {
        slip = std::current_exception();
        call.cancel();
        break;
      }
    }
    const status how = co_await call.finish();
    writing.request_stop();
    co_await writing.join();
    if (slip) std::rethrow_exception(slip);
    co_await offload([&] { tell.ends(how, call.trailing_metadata(), at.types(), at.where()); });
    co_return how;
  }

  task<> send_all(conversation& call, const pb::MethodDescriptor& method, request_source& requests,
                  narrator& tell, std::exception_ptr& slip) {
    const messages typed(at.types(), method);
    try {
      std::size_t count = 0;
      for (;;) {
        const std::optional<std::string> text = co_await requests.next();
        if (!text && count == 0 && requests.ended() && !method.client_streaming())
          throw usage_failure(path_of(method) + " takes one request; there is none ('{}' is an empty one)");
        if (!text) break;
        if (++count > 1 && !method.client_streaming())
          throw usage_failure(path_of(method) + " takes one request; there are more");
        const bytes_message bytes = co_await offload([&] { return typed.request(*text); });
        const status sent = co_await call.write_result(bytes);
        if (!sent.ok()) co_return;  // the call has ended: its reader knows why
        tell.sent(bytes.view().size());
      }
      co_await call.writes_done();
    } catch (const coro::cancelled&) {
      throw;
    } catch (...) {
      slip = std::current_exception();
      call.cancel();
    }
  }

  static void show(const messages& typed, const bytes_message& bytes, narrator& tell) {
    tell.received(bytes.view().size());
    print(typed.reply(bytes) + "\n");
  }
};

}  // namespace

void add_call(CLI::App& app, action& chosen) {
  CLI::App* const command = app.add_subcommand("call", "calls a method; ends with the call's status code");
  const auto it = std::make_shared<call_command>();
  it->at.add_to(*command);
  command->add_option("METHOD", it->name, "package.Service/Method, or as much of its end as only one has")
      ->required();
  command
      ->add_option(
          "-d,--data", it->data,
          "a request as JSON, @FILE, or - for the standard input, where one comes behind the other; default: "
          "an empty one, or the standard input where requests are streamed")
      ->take_all()
      ->allow_extra_args(false);
  command->add_flag("-v,--verbose", it->verbose, "headers, trailers, sizes and times, on stderr");
  command->callback([it, &chosen] { chosen = [it] { return it->run(); }; });
}

}  // namespace coracle::tools
