// junit: results of tests as the XML that CI systems read.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace coracle::tools {

struct test_result {
  std::string file, name;
  std::vector<std::string> problems;  // empty: it has passed
  std::chrono::duration<double> took{};
};

// One testsuite for each file; results of a file follow each other.
[[nodiscard]] std::string junit_xml(const std::vector<test_result>& all);

}  // namespace coracle::tools
