// The first examples of docs/guides/logging.md, operations.md, streaming.md, tuning.md and
// debugging.md, and the includes of the first examples of other guides. A
// namespace surrounds each example, so all headers are included here first.
#include "echo.coracle.fake.hpp"
#include "movie.coracle.fake.hpp"

#include "coracle/client.hpp"
#include "coracle/rpc/message_codec.hpp"
#include "coracle/runtime.hpp"
#include "coracle/server.hpp"
#include "coracle/server/access_log.hpp"
#include "coracle/server/call_statistics.hpp"
#include "coracle/testing.hpp"
#include "coracle/tls.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace streaming_page {

// --8<-- [start:streaming]
#include "coracle/client.hpp"
#include "movie.coracle.hpp"

#include <chrono>

coracle::task<coracle::result<int>> count_movies(movie::rpc::MovieService::stub movies) {
  auto call = movies.ListMovies(movie::ListMoviesRequest(), coracle::within(std::chrono::seconds(10)));
  int count = 0;
  for (;;) {
    const auto next = co_await call.next();
    if (!next.ok()) co_return next.status();  // the stream failed
    if (!*next) co_return count;  // the stream ended with OK
    ++count;
  }
}
// --8<-- [end:streaming]

TEST(FirstExamples, OfStreaming) {
  coracle::testing::service_fixture<movie::rpc::MovieServiceFake> fixture;
  fixture.service().on.ListMovies.returns({movie::Movie(), movie::Movie()});
  const movie::rpc::MovieService::stub movies(fixture.channel());
  EXPECT_EQ(coracle::sync_wait(fixture.runtime(), count_movies(movies)).value(), 2);
  fixture.service().on.ListMovies.fails(coracle::status::unavailable("closed"));
  EXPECT_EQ(coracle::sync_wait(fixture.runtime(), count_movies(movies)).status(),
            coracle::status::unavailable("closed"));
}

}  // namespace streaming_page

namespace operations_page {

// --8<-- [start:operations]
#include "coracle/server.hpp"
#include "movie.coracle.hpp"

#include <string>

class movies final : public movie::rpc::MovieService::service {};  // override the methods here

int serve(const std::string& address) {
  movies service;
  coracle::server server;
  server.add(service);
  coracle::with_defaults(server);  // health, reflection and channelz
  (void)server.listen(address, coracle::insecure());  // run() reports a failure
  return server.run();  // until SIGTERM or SIGINT, then drains
}
// --8<-- [end:operations]

TEST(FirstExamples, OfOperations) { EXPECT_EQ(serve("not an address"), 1); }

}  // namespace operations_page

namespace logging_page {

// --8<-- [start:logging]
#include "coracle/runtime.hpp"

#include <cstdio>
#include <mutex>
#include <string_view>

// Writes the library's log lines to a file.
class file_logger final : public coracle::logger {
 public:
  explicit file_logger(std::FILE* file) : file_(file) {}

 private:
  void record(coracle::log_level level, std::string_view message) noexcept override {
    const std::string_view name = coracle::to_string(level);
    const std::lock_guard lock(mutex_);  // several loops may log at the same time
    std::fprintf(file_, "%.*s %.*s\n", static_cast<int>(name.size()), name.data(),
                 static_cast<int>(message.size()), message.data());
  }

  std::mutex mutex_;
  std::FILE* const file_;
};
// --8<-- [end:logging]

class movies final : public movie::rpc::MovieService::service {};

TEST(FirstExamples, OfLogging) {
  std::FILE* const file = std::tmpfile();
  ASSERT_TRUE(file);
  {
    movies service;
    // --8<-- [start:log_to]
    file_logger log(file);  // must outlive the runtime
    log.set_min_level(coracle::log_level::info);  // Default: info
    coracle::runtime runtime({.log = &log});
    // --8<-- [end:log_to]
    coracle::server server(runtime);
    server.add(service);
    // --8<-- [start:call_logs]
    server.add_interceptor(std::make_shared<coracle::access_log>(runtime.log()));
    server.add_interceptor(std::make_shared<coracle::call_statistics>(runtime.log()));
    // --8<-- [end:call_logs]
    const movie::rpc::MovieService::stub stub(coracle::channel(runtime, server.in_process()));
    EXPECT_EQ(coracle::sync_wait(stub.AddMovie(movie::Movie())).status().code(),
              coracle::status_code::unimplemented);
    const movie::Movie request;
    const coracle::status status = coracle::status::not_found("it is gone");
    const auto waited = std::chrono::milliseconds(20);
    // --8<-- [start:log_lines]
    coracle::logger& to = runtime.log();
    to.info("reloaded ", 12, " movies in ", waited);
    to.warning("AddMovie failed: ", status);
    to.debug("the request: ", [&] { return request.DebugString(); });  // called only at level debug
    // --8<-- [end:log_lines]
  }
  std::rewind(file);
  std::string text(4096, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  EXPECT_NE(text.find("info call=/movie.MovieService/AddMovie"), std::string::npos) << text;
  EXPECT_NE(text.find("info calls=1 "), std::string::npos) << text;
  EXPECT_NE(text.find("info reloaded 12 movies in 20ms\n"), std::string::npos) << text;
  EXPECT_NE(text.find("warning AddMovie failed: NOT_FOUND: it is gone\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("the request"), std::string::npos) << text;
  std::fclose(file);
}

}  // namespace logging_page

namespace tuning_page {

// --8<-- [start:tuning]
#include "coracle/runtime.hpp"

#include <chrono>

coracle::runtime_options options_for_a_busy_server() {
  return {.loops = 0,  // one per core that the process may use
          .blocking_threads = 32,  // for offload()
          .report_stalls = std::chrono::milliseconds(10)};  // logs what blocks a loop
}
// --8<-- [end:tuning]

TEST(FirstExamples, OfTuning) {
  coracle::runtime runtime(options_for_a_busy_server());
  EXPECT_GE(runtime.size(), 1u);
}

}  // namespace tuning_page

namespace debugging_page {

// --8<-- [start:dump]
#include "coracle/runtime.hpp"

coracle::runtime_options with_task_dumps() {
  return {.dump_tasks_on = coracle::process_signal::user1};  // kill -USR1 PID
}
// --8<-- [end:dump]

TEST(FirstExamples, OfDebugging) {
  EXPECT_EQ(with_task_dumps().dump_tasks_on, coracle::process_signal::user1);
}

}  // namespace debugging_page

namespace includes {

// --8<-- [start:retries_includes]
#include "coracle/client.hpp"
// --8<-- [end:retries_includes]

// --8<-- [start:messages_includes]
#include "coracle/client.hpp"
#include "coracle/rpc/message_codec.hpp"
#include "coracle/server.hpp"
#include "movie.coracle.hpp"

using movies_stub = movie::rpc::MovieService::stub;
// --8<-- [end:messages_includes]

// --8<-- [start:security_includes]
#include "coracle/server.hpp"
#include "coracle/tls.hpp"
// --8<-- [end:security_includes]

// --8<-- [start:testing_includes]
#include "coracle/client.hpp"
#include "coracle/testing.hpp"
#include "echo.coracle.hpp"

#include <gtest/gtest.h>
// --8<-- [end:testing_includes]

}  // namespace includes
