// Messages from many tasks to many tasks on two threads: channel, of no room and of some.
#include "check.hpp"

#include "coracle/runtime.hpp"

#include <atomic>
#include <optional>

using jobs = coracle::queue<int>;

coracle::task<> send_jobs(jobs& to, coracle::wait_group& senders, int first, int count) {
  for (int i = 0; i < count; ++i) {
    const bool sent = co_await to.send(first + i);  // waits while there is no room
    if (!sent) check(false, "an open channel takes what is sent");
  }
  senders.done();
}

coracle::task<> close_after(jobs& channel, coracle::wait_group& senders) {
  co_await senders;
  channel.close();
}

coracle::task<> work(jobs& from, std::atomic<int>& sum) {
  while (const std::optional<int> job = co_await from.receive())
    sum += *job;  // until it is closed and drained
}

void run(std::size_t capacity) {
  coracle::runtime rt(2);
  jobs channel(capacity, rt.at(0));
  coracle::wait_group senders(rt.at(0));
  std::atomic<int> sum = 0;
  senders.add(2);
  rt.spawn_on(rt.at(0), send_jobs(channel, senders, 0, 10));
  rt.spawn_on(rt.at(1), send_jobs(channel, senders, 100, 10));
  rt.spawn_on(rt.at(0), close_after(channel, senders));
  for (int i = 0; i < 3; ++i) rt.spawn(work(channel, sum));
  rt.run();
  check(sum == 45 + 1045, "every message arrived once");
}

coracle::task<> after_the_end() {
  jobs channel(4);
  check(channel.try_send(1) && channel.try_send(2), "try_send() does not wait");
  channel.close();
  const bool sent = co_await channel.send(3);
  check(!sent, "a closed channel takes nothing more");
  const std::optional<int> one = co_await channel.receive();
  const std::optional<int> two = co_await channel.receive();
  const std::optional<int> end = co_await channel.receive();
  check(one == 1 && two == 2 && !end, "what was in it comes out, then the end");
}

int main() {
  run(0);  // a rendezvous: each send waits for its receiver
  run(1);
  run(16);
  coracle::runtime rt;
  coracle::sync_wait(rt, after_the_end());
}
