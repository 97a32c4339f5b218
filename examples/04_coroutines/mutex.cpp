// Something that must stay whole across awaits, on two threads: mutex.
#include "check.hpp"

#include "coracle/runtime.hpp"

#include <chrono>

using namespace std::chrono_literals;

struct account {
  int euros = 0;
  int bookings = 0;
};

coracle::task<> pay_in(coracle::mutex& m, account& a) {
  for (int i = 0; i < 100; ++i) {
    const coracle::mutex::guard held = co_await m.lock();  // waits without blocking the thread
    const int before = a.euros;
    if (i % 25 == 0) co_await coracle::sleep_for(100us);   // nobody else gets in meanwhile
    a.euros = before + 1;
    ++a.bookings;
  }
}

coracle::task<> glance(coracle::mutex& m, int& refused) {
  const coracle::mutex::guard mine = co_await m.lock();
  if (!m.try_lock()) ++refused;  // does not wait
}

int main() {
  coracle::runtime rt(2);
  coracle::mutex m(rt.at(0));
  account a;
  int refused = 0;
  for (int i = 0; i < 8; ++i) rt.spawn(pay_in(m, a));
  rt.spawn_on(rt.at(0), glance(m, refused));
  rt.run();
  check(a.euros == 800 && a.bookings == 800, "no payment was lost");
  check(refused == 1, "a locked mutex refuses try_lock()");
}
