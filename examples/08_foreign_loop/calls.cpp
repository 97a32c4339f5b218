// A gRPC server and its client: ordinary code, which does not see who drives its loop.
#include "calls.hpp"

#include "../command_line.hpp"
#include "words.coracle.hpp"

#include <coracle/client.hpp>
#include <coracle/coro/event.hpp>
#include <coracle/coro/latch.hpp>
#include <coracle/server.hpp>

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <optional>
#include <string>
#include <system_error>

namespace {

using namespace std::chrono_literals;
using words::Word;
using words_stub = words::rpc::Words::stub;

Word word(std::string text) {
  Word w;
  w.set_text(std::move(text));
  return w;
}
Word capitals(Word w) {
  for (char& c : *w.mutable_text())
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return w;
}

class words_service final : public words::rpc::Words::service {
 public:
  explicit words_service(coracle::loop& on) : hanging(2, on) {}
  coracle::latch hanging;  // opens when two handlers have been stopped

 private:
  coracle::reply<Word> Capitals(coracle::server_context&, const Word& request) override {
    co_await coracle::sleep_for(1ms);  // a timer of Coracle's, which the foreign loop waits for
    co_return capitals(request);
  }
  coracle::replies<Word> Spell(coracle::server_context&, const Word& request) override {
    for (const char letter : request.text()) {
      const Word one = word(std::string(1, letter));
      co_yield one;
    }
    co_return coracle::ok;
  }
  coracle::reply<Word> Join(coracle::server_context&, coracle::reader<Word> letters) override {
    Word all;
    while (auto one = co_await letters.next()) all.mutable_text()->append(one->text());
    co_return all;
  }
  coracle::replies<Word> Chat(coracle::server_context&, coracle::reader<Word> requests) override {
    while (auto one = co_await requests.next()) {
      const Word answer = capitals(*one);
      co_yield answer;
    }
    co_return coracle::ok;
  }
  coracle::reply<Word> Hang(coracle::server_context&, const Word& request) override {
    try {
      co_await coracle::sleep_for(1h);
    } catch (const coracle::coro::cancelled&) {
      hanging.count_down();
      throw;
    }
    co_return request;
  }
};

void say(const char* what, const std::string& result) { std::printf("%s: %s\n", what, result.c_str()); }

coracle::task<> call_all_kinds(words_stub stub) {
  const auto limit = coracle::within(20s);
  const Word request = word("coracle");
  const auto reply = co_await stub.Capitals(request, limit);
  say("unary", reply.value().text());

  std::string spelled;
  auto spelling = stub.Spell(request, limit);
  while (const auto letter = (co_await spelling.next()).value()) spelled += letter->text() + ".";
  say("server stream", spelled);

  auto joining = stub.Join(limit);
  for (const char* letter : {"b", "o", "a", "t"}) {
    const Word one = word(letter);
    (co_await joining.write(one)).throw_if_error();
  }
  const auto joined = co_await joining.finish();
  say("client stream", joined.value().text());

  auto chat = stub.Chat(limit);
  std::string answers;
  for (const char* text : {"hello", "there"}) {
    const Word one = word(text);
    (co_await chat.write(one)).throw_if_error();
    const auto answer = (co_await chat.next()).value();
    if (answer) answers += answer->text() + "!";
  }
  const coracle::status end = co_await chat.finish();
  end.throw_if_error();
  say("both ways", answers);
}

// --8<-- [start:end]
coracle::task<> end_calls_early(words_stub stub, foreign_loop& host) {
  const Word request = word("never");
  const auto late = co_await stub.Hang(request, coracle::within(30ms));
  say("a deadline", std::string(coracle::name_of(late.status().code())));

  coracle::event<coracle::status> ended;
  coracle::started call =
      stub.Hang(request).then([&ended](const coracle::result<Word>& reply) { ended.set(reply.status()); });
  host.after(30ms, [&call] { call.cancel(); });  // a timer of the foreign loop
  const coracle::status end = co_await ended;
  say("cancelled by a timer of the loop", std::string(coracle::name_of(end.code())));
}
// --8<-- [end:end]

// What the loop has of its own: a timer that writes into a pipe.
class own_work {
 public:
  explicit own_work(foreign_loop& host) : host_(host) {
    if (::pipe(pipe_) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
    host.watch(pipe_[0], [this] { receive(); });
    send();
  }
  own_work(const own_work&) = delete;
  own_work& operator=(const own_work&) = delete;
  ~own_work() {
    ::close(pipe_[0]);
    ::close(pipe_[1]);
  }
  bool calls_ended = false;

 private:
  static constexpr int enough = 10;
  void send() {
    if (::write(pipe_[1], "x", 1) != 1) throw std::system_error(errno, std::generic_category(), "write");
    host_.after(5ms, [this] { send(); });
  }
  void receive() {
    char byte = 0;
    if (::read(pipe_[0], &byte, 1) == 1) ++received_;
    if (calls_ended && received_ >= enough) host_.stop();
  }
  foreign_loop& host_;
  int pipe_[2];
  int received_ = 0;
};

coracle::task<> make_calls(words_stub stub, foreign_loop& host, words_service& service, own_work& own) {
  co_await call_all_kinds(stub);
  co_await end_calls_early(stub, host);
  co_await service.hanging;
  say("their handlers", "stopped");
  own.calls_ended = true;
}

void run(foreign_loop& host) {
  own_work own(host);
  // --8<-- [start:drive]
  coracle::runtime guest;
  words_service service(guest.at(0));
  coracle::server server(guest);
  server.add(service);
  server.listen("127.0.0.1:0", coracle::insecure()).throw_if_error();
  const coracle::channel channel(guest, "127.0.0.1:" + std::to_string(server.port()), coracle::insecure());
  guest.spawn(make_calls(words_stub(channel), host, service, own));
  host.drive(guest);
  host.run();
  host.release();
  // --8<-- [end:drive]
  say("the loop's timer and pipe", "went on");
}

}  // namespace

int run_calls(int argc, char** argv, const char* program, foreign_loop& host) {
  return examples::run(program, [&] {
    const examples::command_line none(argc, argv, "");
    run(host);
    return 0;
  });
}
