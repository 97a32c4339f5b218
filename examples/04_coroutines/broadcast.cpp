// Each message to every subscriber: broadcast. A subscriber that falls behind learns how many messages it has missed.
#include "check.hpp"

#include "coracle/runtime.hpp"

#include <cstdint>
#include <string>

using news = coracle::broadcast<std::string>;

struct seen {
  std::string text;
  std::uint64_t lost = 0;
};

coracle::task<> listen(news::subscriber from, seen& result) {
  while (auto heard = co_await from.next()) {  // until it is closed
    result.text += heard->message();
    result.lost += heard->lost();
  }
}

coracle::task<> publish(news& to, std::string letters) {
  for (const char letter : letters) to.send(std::string(1, letter));  // never waits for a subscriber
  to.close();
  co_return;
}

int main() {
  coracle::runtime rt(2);
  news channel(16, rt.at(0));  // keeps the last 16 messages
  seen first;
  seen second;
  rt.spawn_on(rt.at(0), listen(news::subscriber(channel), first));
  rt.spawn_on(rt.at(1), listen(news::subscriber(channel), second));
  rt.spawn_on(rt.at(1), publish(channel, "abcdef"));
  rt.run();
  check(first.text == "abcdef" && second.text == "abcdef", "both subscribers heard everything");

  news small(2, rt.at(0));  // keeps two: its sender is faster than its subscriber
  seen late;
  rt.spawn_on(rt.at(0), publish(small, "abcdef"));
  rt.spawn_on(rt.at(0), listen(news::subscriber(small), late));
  rt.run();
  check(late.text == "ef" && late.lost == 4, "who is late hears what was kept, and how much was lost");
}
