#include "event.hpp"

#include "../lab.hpp"

#include <string>

using lab::expect;

lab::detached wait(lab::event& e, std::string& log, char name) {
  co_await e;
  log += name;
}

lab::detached wait_and_set_again(lab::event& e, std::string& log) {
  co_await e;
  e.set();
  log += '!';
}

void test() {
  lab::event e;
  std::string log;
  wait(e, log, 'a');
  wait(e, log, 'b');
  wait_and_set_again(e, log);
  wait(e, log, 'c');
  expect(log.empty(), "coroutines wait until the event is set");
  e.set();
  expect(e.is_set(), "the event is set");
  expect(log == "ab!c", "all waiters continue, in the order in which they came, each once");
  wait(e, log, 'd');
  expect(log == "ab!cd", "an event that is set makes no coroutine wait");
  e.set();
  expect(log == "ab!cd", "a second set() resumes no coroutine");
}

int main() { return lab::run_test(test); }
