#include "coracle/rpc/load_report.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace coracle::load_report_test {
namespace {

TEST(LoadReport, OutOfRangeAndNoNumbersAreIgnored) {
  load_report r;
  r.set_cpu_utilization(1.5).set_application_utilization(3).set_memory_utilization(1).set_qps(0.5).set_eps(0);
  const load_report before = r;
  for (const double n : {-0.1, std::nan(""), std::numeric_limits<double>::infinity()}) {
    r.set_cpu_utilization(n).set_application_utilization(n).set_memory_utilization(n).set_qps(n).set_eps(n);
    r.set_utilization("disk", n);
  }
  r.set_memory_utilization(1.01).set_utilization("disk", 1.01);
  r.set_cost("rows", std::nan("")).set_metric("queue", std::numeric_limits<double>::infinity());
  EXPECT_EQ(r, before);
  EXPECT_EQ(r.set_cost("rows", -1).costs().at("rows"), -1);
}

TEST(LoadReport, WhatWasSetIsThereAfterTheWire) {
  load_report r;
  r.set_cpu_utilization(1.25).set_memory_utilization(0.5).set_application_utilization(0.75);
  r.set_qps(1234.5).set_eps(0.125).set_cost("rows", 3).set_cost("", -2);
  r.set_utilization("disk", 0).set_metric("queue", 1e300);
  EXPECT_EQ(load_report::parse(r.serialize()), r);
  EXPECT_EQ(load_report().serialize(), "");
  EXPECT_TRUE(load_report::parse("")->empty());
}

TEST(LoadReport, TheWireIsThatOfXds) {
  load_report r;
  r.set_cpu_utilization(1).set_cost("a", 2);
  const std::string expected(
      "\x09\0\0\0\0\0\0\xf0\x3f"          // cpu_utilization = 1
      "\x22\x0c\x0a\x01"
      "a\x11\0\0\0\0\0\0\0\x40",  // request_cost["a"] = 2
      9 + 14);
  EXPECT_EQ(r.serialize(), expected);
}

TEST(LoadReport, AMessageThatIsCutIsNone) {
  const std::string whole = load_report().set_cost("rows", 2).set_qps(3).serialize();
  const std::size_t entry = load_report().set_cost("rows", 2).serialize().size();
  for (std::size_t n = 1; n < whole.size(); ++n)
    EXPECT_EQ(load_report::parse(whole.substr(0, n)).has_value(), n == entry) << n;
  EXPECT_FALSE(load_report::parse("\x22\x02\x0a\x05"));  // an entry that is cut within
}

TEST(LoadReport, ValuesOfAnyPeerAreCheckedAsOwnOnes) {
  std::string hostile("\x11\0\0\0\0\0\0\x00\x40", 9);  // mem_utilization = 2
  hostile.append("\x09\0\0\0\0\0\0\xf8\x7f", 9);  // cpu_utilization = NaN
  EXPECT_TRUE(load_report::parse(hostile)->empty());
}

TEST(LoadReport, OfACallTheLastReportCounts) {
  metadata trailing;
  EXPECT_EQ(load_report::of_call(trailing), std::nullopt);
  trailing.add("endpoint-load-metrics-bin", load_report().set_qps(1).serialize());
  trailing.add("endpoint-load-metrics-bin", load_report().set_qps(2).serialize());
  EXPECT_EQ(load_report::of_call(trailing)->qps(), 2);
}

TEST(LoadReport, OwnValuesBeatOthersNameByName) {
  const load_report own = load_report().set_qps(1).set_cost("a", 1);
  const load_report other = load_report().set_qps(2).set_eps(3).set_cost("a", 4).set_cost("b", 5);
  EXPECT_EQ(own.or_else(other), load_report().set_qps(1).set_eps(3).set_cost("a", 1).set_cost("b", 5));
}

}  // namespace
}  // namespace coracle::load_report_test
