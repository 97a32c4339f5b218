#include "scheduler.hpp"

#include "../01_event/solution/event.hpp"
#include "../lab.hpp"

#include <stdexcept>
#include <string>

using lab::expect;

lab::task<> count(lab::scheduler& on, std::string& log, char name, int steps) {
  for (int i = 0; i < steps; ++i) {
    log += name;
    co_await on.yield();
  }
}

lab::task<> spawn_more(lab::scheduler& on, std::string& log) {
  on.spawn(count(on, log, 'x', 2));
  log += "spawned ";
  co_return;
}

lab::task<> fail(const char* text) {
  throw std::runtime_error(text);
  co_return;
}

lab::task<> wait_for(lab::event& e) { co_await e; }

std::string what_run_throws(lab::scheduler& s) {
  try {
    s.run();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "nothing";
}

void test() {
  lab::scheduler s;
  std::string log;
  s.spawn(count(s, log, 'a', 3));
  s.spawn(count(s, log, 'b', 2));
  expect(log.empty(), "a task does not begin in spawn()");
  s.run();
  expect(log == "ababa", "the tasks run by turns, and run() returns when all have ended");

  log.clear();
  s.spawn(spawn_more(s, log));
  s.run();
  expect(log == "spawned xx", "a task spawns another one, which begins later");

  log.clear();
  s.spawn(fail("the first"));
  s.spawn(fail("the second"));
  s.spawn(count(s, log, 'c', 2));
  expect(what_run_throws(s) == "the first", "run() throws the first exception of a task");
  expect(log == "cc", "but only when all tasks have ended");
  expect(what_run_throws(s) == "nothing", "and only once");

  lab::scheduler stuck;
  lab::event never;
  stuck.spawn(wait_for(never));
  expect(what_run_throws(stuck).find("nothing will resume one") != std::string::npos,
         "run() says so when nothing will resume the tasks that are left");
  never.set();  // so that the frame ends
}

int main() { return lab::run_test(test); }
