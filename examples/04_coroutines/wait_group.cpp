// A number of tasks that is not known beforehand, waited for twice: wait_group.
#include "check.hpp"

#include "coracle/runtime.hpp"

#include <chrono>
#include <cstddef>

using namespace std::chrono_literals;

coracle::task<> crawl(coracle::runtime& rt, coracle::wait_group& open, int depth, int& pages) {
  ++pages;
  co_await coracle::sleep_for(1ms);
  for (int link = 0; link < depth; ++link) {
    open.add();
    rt.spawn_on(*coracle::loop::current(), crawl(rt, open, depth - 1, pages));
  }
  open.done();
}

coracle::task<int> pages_below(coracle::runtime& rt, int depth) {
  coracle::wait_group open;
  int pages = 0;
  open.add();
  rt.spawn_on(*coracle::loop::current(), crawl(rt, open, depth, pages));
  co_await open;
  open.add();  // it counts up again after it has been at zero
  rt.spawn_on(*coracle::loop::current(), crawl(rt, open, 0, pages));
  co_await open;
  co_return pages;
}

int main() {
  coracle::runtime rt;
  const int pages = coracle::sync_wait(rt, pages_below(rt, 3));
  check(pages == 16 + 1, "every page was counted before the wait ended, twice");
}
