// The code of docs/concepts/tasks.md.
// --8<-- [start:includes]
#include <coracle/runtime.hpp>

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>
// --8<-- [end:includes]

#include <gtest/gtest.h>

namespace concept_tasks {

// --8<-- [start:program]
using namespace std::chrono_literals;

coracle::task<std::string> fetch(std::string name, coracle::duration time) {
  co_await coracle::sleep_for(time);  // stands for a call
  co_return name;
}

coracle::task<> append(std::vector<std::string>& names, std::string name) {
  names.push_back(co_await fetch(name, 10ms));
}

coracle::task<std::vector<std::string>> fetch_all() {
  std::vector<std::string> names;

  // A fixed number of tasks, concurrently.
  const auto [first, second] = co_await coracle::when_all(fetch("Ada", 10ms), fetch("Grace", 20ms));
  names = {first, second};

  // A task with a limit. Its end cancels the task.
  const auto slow = co_await coracle::with_timeout(30ms, fetch("Godot", 1h));
  if (!slow.ok()) names.push_back(std::string(coracle::name_of(slow.status().code())));

  // Any number of tasks. They end before the scope does.
  const std::vector<std::string> more = {"Barbara", "Frances"};
  coracle::scope work{co_await coracle::coro::this_environment()};
  for (const auto& name : more) work.spawn(append(names, name));
  co_await work.join();

  co_return names;
}

int main() {
  coracle::runtime runtime;
  for (const auto& name : coracle::sync_wait(runtime, fetch_all())) std::printf("%s\n", name.c_str());
  return 0;
}
// --8<-- [end:program]

TEST(ConceptTasks, TasksEndBeforeWhatAwaitsThem) {
  coracle::runtime runtime;
  EXPECT_EQ(coracle::sync_wait(runtime, fetch_all()),
            (std::vector<std::string>{"Ada", "Grace", "DEADLINE_EXCEEDED", "Barbara", "Frances"}));
}

}  // namespace concept_tasks
