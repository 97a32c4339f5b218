#include "sync.hpp"

#include "../lab.hpp"

#include <optional>
#include <string>
#include <utility>

using lab::expect;

lab::task<> enter(lab::scheduler& on, lab::mutex& m, std::string& log, char name) {
  const lab::mutex::guard held = co_await m.lock();
  for (int i = 0; i < 3; ++i) {
    log += name;
    co_await on.yield();
  }
}

lab::task<> send_all(lab::channel<int>& to, int first, int count, int& sent) {
  for (int i = 0; i < count; ++i) {
    const bool taken = co_await to.send(first + i);
    if (taken) ++sent;
  }
}
lab::task<> receive_all(lab::channel<int>& from, int& received, int& sum) {
  while (const std::optional<int> item = co_await from.receive()) {
    ++received;
    sum += *item;
  }
}
lab::task<> close_when(lab::scheduler& on, lab::channel<int>& channel, const int& sent, int count) {
  while (sent < count) co_await on.yield();
  channel.close();
}
lab::task<> close_after_a_while(lab::scheduler& on, lab::channel<int>& channel) {
  for (int i = 0; i < 5; ++i) co_await on.yield();
  channel.close();
}

void test_mutex() {
  lab::scheduler s;
  lab::mutex m(s);
  std::string log;
  for (const char name : {'a', 'b', 'c'}) s.spawn(enter(s, m, log, name));
  s.run();
  expect(log == "aaabbbccc",
         "one task at a time holds the mutex, across its awaits, in the order of their requests");
  s.spawn(enter(s, m, log, 'd'));
  s.run();
  expect(log == "aaabbbcccddd", "the last guard has unlocked the mutex");
}

void test_channel() {
  lab::scheduler s;
  {
    lab::channel<int> channel(s, 2);
    int sent = 0;
    s.spawn(send_all(channel, 0, 5, sent));
    s.spawn(close_after_a_while(s, channel));
    s.run();
    expect(sent == 2, "a sender waits while the channel is full, and close() ends its wait");
    int received = 0;
    int sum = 0;
    s.spawn(receive_all(channel, received, sum));
    s.run();
    expect(received == 2 && sum == 1, "what was sent before close() comes out, then the end");
  }
  {
    lab::channel<int> channel(s, 1);
    int received = 0;
    int sum = 0;
    s.spawn(receive_all(channel, received, sum));
    s.spawn(close_after_a_while(s, channel));
    s.run();
    expect(received == 0, "close() ends the wait of a receiver");
  }
  lab::channel<int> channel(s, 3);
  int sent = 0;
  int received = 0;
  int sum = 0;
  for (int i = 0; i < 3; ++i) s.spawn(send_all(channel, 100 * i, 100, sent));
  for (int i = 0; i < 2; ++i) s.spawn(receive_all(channel, received, sum));
  s.spawn(close_when(s, channel, sent, 300));
  s.run();
  expect(sent == 300 && received == 300 && sum == 299 * 300 / 2,
         "each item of three senders reaches one of two receivers");
}

void test() {
  test_mutex();
  test_channel();
}

int main() { return lab::run_test(test); }
