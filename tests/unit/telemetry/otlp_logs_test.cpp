#include "telemetry/otlp/encode_logs.hpp"

#include "telemetry/otlp/log_outlet.hpp"
#include "telemetry/otlp/wire.hpp"

#include "coracle/base/fan_out_logger.hpp"
#include "coracle/telemetry/otlp_logger.hpp"
#include "support/kept_log.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace coracle::telemetry_internal::otlp_logs_test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using testing_support::kept_log;

// The fields of a message whose value is a message or a text, and the numbers of the others.
struct parts {
  explicit parts(std::string_view message) {
    rpc::proto_reader r(message);
    while (r.next()) {
      texts[r.field()].emplace_back(r.text());
      numbers[r.field()] = r.number();
    }
    EXPECT_TRUE(r.ok());
  }
  std::map<std::uint32_t, std::vector<std::string>> texts;
  std::map<std::uint32_t, std::uint64_t> numbers;
};

// The attributes of a LogRecord: each value as an encoded AnyValue.
std::map<std::string, std::string> attributes_of(const parts& record) {
  std::map<std::string, std::string> all;
  for (const std::string& pair : record.texts.at(6)) {
    const parts p(pair);
    EXPECT_TRUE(all.emplace(p.texts.at(1)[0], p.texts.at(2)[0]).second) << pair;
  }
  return all;
}
std::string text_in(const std::string& any) { return parts(any).texts.at(1)[0]; }

std::vector<std::string> records_of(log_queue& q) { return q.next_batch(); }
std::string body_of(const std::string& record) { return text_in(parts(record).texts.at(5)[0]); }

TEST(encode_logs, ALineHasItsFields) {
  log_trace trace;
  trace.trace.fill(0xab);
  trace.span.fill(0xcd);
  trace.flags = 1;
  const log_field fields[] = {
      {"title", "Metropolis"}, {"year", 1927},   {"offset", -1}, {"seen", false},
      {"score", 8.25},         {"took", 1500ms}, {"", "no key"}, {"large", ~std::uint64_t{0}}};
  log_record line;
  line.level = log_level::warning;
  line.room = log_room::client;
  line.time = std::chrono::sys_days(std::chrono::year(2026) / 1 / 1);
  line.text = "a movie was added";
  line.fields = fields;
  line.trace = &trace;
  const std::string encoded = encode_log_record(line);
  const parts r(encoded);
  EXPECT_EQ(r.numbers.at(2), 13U);
  EXPECT_EQ(r.texts.at(3)[0], "warning");
  EXPECT_EQ(body_of(encoded), "a movie was added");
  const auto attributes = attributes_of(r);
  ASSERT_THAT(attributes, SizeIs(8));
  EXPECT_EQ(text_in(attributes.at("coracle.room")), "client");
  EXPECT_EQ(text_in(attributes.at("title")), "Metropolis");
  EXPECT_EQ(parts(attributes.at("year")).numbers.at(3), 1927U);
  EXPECT_EQ(parts(attributes.at("offset")).numbers.at(3), ~std::uint64_t{0});
  EXPECT_EQ(parts(attributes.at("seen")).numbers.at(2), 0U);
  EXPECT_EQ(attributes.at("score"), std::string("\x21\0\0\0\0\0\x80\x20\x40", 9));
  EXPECT_EQ(text_in(attributes.at("took")), "1.5s");
  EXPECT_EQ(text_in(attributes.at("large")), "18446744073709551615");
  EXPECT_FALSE(r.numbers.contains(7));
  EXPECT_EQ(r.texts.at(9)[0], std::string(16, '\xab'));
  EXPECT_EQ(r.texts.at(10)[0], std::string(8, '\xcd'));
  // time: fixed64 of the first field; flags: fixed32 1; the tags are 1 << 3 | 1 and 8 << 3 | 5.
  EXPECT_TRUE(encoded.starts_with(std::string("\x09\x00\x00\xfa\xed\x51\x72\x86\x18", 9))) << encoded;
  EXPECT_THAT(encoded, HasSubstr(std::string("\x45\x01\0\0\0", 5)));
}

TEST(encode_logs, EachLevelHasItsNumber) {
  log_record line;
  for (const auto& [level, number] : {std::pair(log_level::debug, 5U), std::pair(log_level::info, 9U),
                                      std::pair(log_level::warning, 13U), std::pair(log_level::error, 17U)}) {
    line.level = level;
    EXPECT_EQ(parts(encode_log_record(line)).numbers.at(2), number);
  }
}

TEST(encode_logs, WhatAPeerSendsIsCutAndValid) {
  std::vector<log_field> fields;
  const std::string key(200, 'k');
  const std::string value = std::string(508, 'v') + "\xc3\xbc and more";
  fields.emplace_back(key, value);
  fields.emplace_back("bytes", "a\xff");
  for (int i = 0; i < 100; ++i) fields.emplace_back("f", value);
  const std::string text(100000, 't');
  log_record line;
  line.text = text;
  line.fields = fields;
  const std::string encoded = encode_log_record(line);
  EXPECT_LE(encoded.size(), 4500U);
  const parts r(encoded);
  EXPECT_EQ(body_of(encoded).size(), 2048U);
  EXPECT_TRUE(body_of(encoded).ends_with("t..."));
  const parts first(r.texts.at(6)[1]);
  EXPECT_EQ(first.texts.at(1)[0], std::string(61, 'k') + "...");
  EXPECT_EQ(text_in(first.texts.at(2)[0]), std::string(508, 'v') + "...");
  EXPECT_EQ(text_in(parts(r.texts.at(6)[2]).texts.at(2)[0]), "a\xef\xbf\xbd");
  EXPECT_EQ(r.numbers.at(7) + r.texts.at(6).size(), 103U);
  EXPECT_GT(r.numbers.at(7), 90U);
}

TEST(encode_logs, RequestsAreWithinTheirSize) {
  std::vector<std::string> records(500, std::string(100, 'x'));
  records[7] = std::string(5000, 'x');
  const encoded_batch batch = encode_logs(records, "", 4096);
  EXPECT_EQ(batch.too_large, 1U);
  std::size_t items = 0;
  for (const export_request& r : batch.requests) {
    EXPECT_LE(r.body.size(), 4096U);
    items += r.items;
  }
  EXPECT_EQ(items, 499U);
}

TEST(log_outlet, TheFirstLinesWaitForAnExporter) {
  otlp_logger log;
  for (std::size_t i = 0; i < log_outlet::early_max + 10; ++i) log.info("line ", i);
  export_counts counts;
  log_queue q({.queue_max = 10000, .batch_max = 10000}, counts);
  log.internals().connect(q);
  EXPECT_EQ(q.lost(), 10U);
  log.info("connected");
  log.internals().disconnect(q);
  log.info("for the next one");
  const auto all = records_of(q);
  ASSERT_THAT(all, SizeIs(log_outlet::early_max + 1));
  EXPECT_EQ(body_of(all[0]), "line 0");
  EXPECT_EQ(body_of(all.back()), "connected");
}

TEST(log_outlet, EachExporterGetsEachLineWithinItsQueue) {
  otlp_logger log;
  export_counts counts;
  export_counts few;
  log_queue all({.queue_max = 100, .batch_max = 100}, counts);
  log_queue some({.queue_max = 3, .batch_max = 2}, few);
  log.internals().connect(all);
  log.internals().connect(some);
  for (int i = 0; i < 5; ++i) log.info("line ", i);
  EXPECT_THAT(records_of(all), SizeIs(5));
  EXPECT_EQ(some.lost(), 2U);
  EXPECT_THAT(records_of(some), SizeIs(2));
  EXPECT_EQ(body_of(records_of(some).at(0)), "line 2");
  some.close(loss::shutdown);
  log.info("late");
  EXPECT_EQ(some.lost(), 3U);
  EXPECT_EQ(counts.lost(), 0U);
}

TEST(log_without_export, PassesLinesToTheLoggersThatDoNotExport) {
  kept_log first;
  kept_log second;
  second.set_min_level(log_level::error);
  otlp_logger exported;
  fan_out_logger inner({&second, &exported});
  fan_out_logger all({&first, &inner});
  EXPECT_THAT(exporting_loggers(all), ::testing::ElementsAre(&exported));
  EXPECT_THAT(exporting_loggers(exported), ::testing::ElementsAre(&exported));
  EXPECT_THAT(exporting_loggers(first), SizeIs(0));
  log_without_export own(all);
  own.in(log_room::telemetry).warning("the collector is gone");
  own.in(log_room::telemetry).debug("a detail");
  EXPECT_THAT(first.text(), HasSubstr("the collector is gone"));
  EXPECT_THAT(first.text(), Not(HasSubstr("a detail")));
  EXPECT_EQ(second.text(), "");
  own.in(log_room::telemetry).error("it is really gone");
  EXPECT_THAT(second.text(), HasSubstr("it is really gone"));
  export_counts counts;
  log_queue q({.queue_max = 10, .batch_max = 10}, counts);
  exported.internals().connect(q);
  EXPECT_THAT(records_of(q), SizeIs(0));
}

}  // namespace
}  // namespace coracle::telemetry_internal::otlp_logs_test
