// echo_client: sends what is typed, line by line, and prints what comes back. For the echo server and the chat.
#include "../command_line.hpp"

#include <coracle/runtime.hpp>

#include <cstdio>
#include <optional>
#include <string>

namespace {

namespace net = coracle::net;
using coracle::task;
using line = coracle::result<std::optional<std::string>>;

// A terminal, a pipe or a file: the loop waits for it beside the connection.
task<> send_lines(net::input& from, net::stream& to) {
  net::line_reader typed(from);
  for (;;) {
    line next = co_await typed.next();
    if (!next.ok() || !*next) break;  // stopped, or the end
    const std::string text = **next + "\n";
    const coracle::status sent = co_await to.write(coracle::as_bytes(text));
    if (!sent.ok()) throw coracle::status_error(sent);
  }
  to.shutdown_send();  // the server sees the end, and its last replies still come
}

task<> print_lines(net::stream& from, coracle::scope& conversation) {
  net::line_reader replies(from);
  for (;;) {
    line next = co_await replies.next();
    if (!next.value()) break;
    std::printf("%s\n", examples::printable(**next).c_str());
    std::fflush(stdout);
  }
  conversation.request_stop();  // nobody is there to type for
}

task<> talk(std::string where) {
  coracle::result<net::stream> connected = co_await net::stream::connect(net::address::parse(where).value());
  net::stream server = std::move(connected).value();
  net::input keyboard = net::standard_input().value();
  coracle::scope conversation;
  conversation.spawn(send_lines(keyboard, server));
  conversation.spawn(print_lines(server, conversation));
  co_await conversation.join();  // throws what one of them threw, when both have ended
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run("echo_client", [&] {
    const examples::command_line words(argc, argv, "ADDRESS");
    coracle::runtime loops;
    coracle::sync_wait(loops, talk(words.words().front()));
    return 0;
  });
}
