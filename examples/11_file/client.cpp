// file_client: puts a file into the server's folder, or gets one from there.
#include "../command_line.hpp"
#include "transfer.hpp"

#include <coracle/client.hpp>

#include <cstdio>
#include <string>
#include <utility>

namespace {

namespace net = coracle::net;
using stub = files::rpc::Files::stub;

void say(const char* text, std::uint64_t bytes) {
  std::printf("%s %llu bytes\n", text, static_cast<unsigned long long>(bytes));
}

coracle::task<> put(stub to, std::string path, std::string name) {
  auto file = co_await net::file::open(path);
  auto call = to.Put();
  files::Piece first;
  first.set_name(name);
  const std::uint64_t sent = co_await transfer::send_file(file.value(), call, std::move(first));
  const auto reply = co_await call.finish();
  if (reply.value().bytes() != sent)
    throw coracle::status_error(coracle::status::data_loss("the server has not got all of it"));
  say("put", sent);
}

coracle::task<> get(stub from, std::string name, std::string path) {
  files::Name file_name;
  file_name.set_name(name);
  auto call = from.Get(file_name);
  files::Piece first;
  if ((co_await call.read(first)).value()) {
    constexpr net::file_options new_file{.read = false, .write = true, .create_new = true};
    auto file = co_await net::file::open(path, new_file);
    say("got", co_await transfer::receive_file(call, file.value(), std::move(first)));
  }
  const coracle::status outcome = co_await call.finish();
  if (!outcome.ok()) throw coracle::status_error(outcome);
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run("file_client", [&] {
    const examples::command_line line(argc, argv, "ADDRESS put|get FROM TO");
    const auto& words = line.words();
    const bool puts = words[1] == "put";
    if (!puts && words[1] != "get")
      throw examples::usage_error("ADDRESS put PATH NAME, or ADDRESS get NAME PATH, not '" + words[1] + "'");
    coracle::runtime loops(1);
    coracle::channel channel(loops, words[0], coracle::insecure());
    coracle::sync_wait(
        loops, puts ? put(stub(channel), words[2], words[3]) : get(stub(channel), words[2], words[3]));
    return 0;
  });
}
