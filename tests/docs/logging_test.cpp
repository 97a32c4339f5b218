// The code of docs/guides/logging.md that has to do with formats, levels by room, fields and the access log.
#include "movie.coracle.hpp"

#include "coracle/base/fan_out_logger.hpp"
#include "coracle/base/line_logger.hpp"
#include "coracle/client.hpp"
#include "coracle/runtime.hpp"
#include "coracle/server.hpp"
#include "coracle/server/access_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace logging_formats_page {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class movies final : public movie::rpc::MovieService::service {
  // --8<-- [start:fields]
  coracle::reply<movie::AddMovieResponse> AddMovie(coracle::server_context& context,
                                                   const movie::Movie& request) override {
    context.log().info("a movie was added", coracle::log_field("title", request.title()),
                       coracle::log_field("year", request.year_of_production()));
    co_return movie::AddMovieResponse();
  }
  // --8<-- [end:fields]
};

// --8<-- [start:record_logger]
// Keeps the lines of errors, with what they say about their call.
class error_list final : public coracle::record_logger {
 public:
  struct error {
    coracle::log_room room;
    std::string text;
    bool of_a_trace;
  };
  std::vector<error> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(errors_, {});
  }

 private:
  void accept(const coracle::log_record& line) noexcept override {
    if (line.level < coracle::log_level::error) return;
    const std::lock_guard lock(mutex_);
    errors_.push_back({line.room, std::string(line.text), line.trace != nullptr});
  }
  std::mutex mutex_;
  std::vector<error> errors_;
};
// --8<-- [end:record_logger]

TEST(LoggingPage, FormatsFieldsAndTheAccessLog) {
  std::string path = "/tmp/logging_page_XXXXXX";
  ::close(::mkstemp(path.data()));
  {
    movies service;
    error_list errors;
    // --8<-- [start:json]
    const auto file = coracle::line_logger::open(path, coracle::log_format::json).value();
    coracle::fan_out_logger log({&coracle::stderr_logger(), file.get(), &errors});
    coracle::runtime runtime({.log = &log});
    // --8<-- [end:json]
    coracle::server server(runtime);
    server.add(service);
    // --8<-- [start:access]
    coracle::access_log_options options;
    options.fields.push_back(coracle::access_field::user_agent);
    options.metadata = {"x-tenant"};
    options.sample_one_of = 100;  // of the calls that succeed ...
    options.slow = 500ms;         // ... in less than this
    server.add_interceptor(std::make_shared<coracle::access_log>(runtime.log(), options));
    // --8<-- [end:access]
    const movie::rpc::MovieService::stub stub(coracle::channel(runtime, server.in_process()));
    movie::Movie request;
    request.set_title("Stalker \"1979\"");
    request.set_year_of_production(1979);
    coracle::call_options with;
    with.add_metadata("x-tenant", "blue")
        .add_metadata("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    EXPECT_TRUE(coracle::sync_wait(stub.AddMovie(request, with)).ok());
    // --8<-- [start:levels]
    coracle::logger& to = runtime.log();
    to.set_min_level(coracle::log_room::tls, coracle::log_level::debug);
    const coracle::status set = to.set_min_levels("warning,client=debug,access=info");  // as in CORACLE_LOG
    for (const coracle::log_room room : coracle::log_rooms)
      std::printf("%s %s\n", std::string(to_string(room)).c_str(),
                  std::string(to_string(to.min_level(room))).c_str());
    // --8<-- [end:levels]
    EXPECT_TRUE(set.ok());
    EXPECT_EQ(to.min_levels(), "warning,access=info,client=debug");
    to.in(coracle::log_room::client).error("an error");
    const auto kept = errors.take();
    ASSERT_EQ(kept.size(), 1u);
    EXPECT_EQ(kept[0].room, coracle::log_room::client);
    EXPECT_FALSE(kept[0].of_a_trace);
  }
  std::FILE* const read = std::fopen(path.c_str(), "r");
  ASSERT_TRUE(read);
  std::string text(16'384, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), read));
  std::fclose(read);
  ::unlink(path.c_str());
  EXPECT_THAT(text, HasSubstr(R"("level":"info","room":"application","message":"a movie was added",)"
                              R"("trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","span_id":"00f067aa0ba902b7",)"
                              R"("trace_flags":"01","title":"Stalker \"1979\"","year":1979})"));
  EXPECT_THAT(text, HasSubstr(R"("room":"access")"));
  EXPECT_THAT(text, HasSubstr(R"("call":"/movie.MovieService/AddMovie")"));
  EXPECT_THAT(text, HasSubstr(R"("x-tenant":"blue"})"));
}

}  // namespace
}  // namespace logging_formats_page
