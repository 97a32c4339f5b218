// Typed details of a status: across a call, and exchanged with the official classes of the same definitions.
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "support/echo_fixture.hpp"
#include "support/misuse.hpp"

#include "coracle/rpc/status_details.hpp"

namespace coracle::testing_support::rich_error_test {
namespace {

using namespace std::chrono_literals;

status rich() {
  return with_details(status::invalid_argument("a title is needed"),
                      error_info("NO_TITLE", "movies.example").with("where", "here").with("empty", ""),
                      bad_request().field("movie.title", "is empty").field("movie.year", "is before 1888"),
                      retry_info(1500ms));
}

// The checks of rich(), wherever it came from.
void expect_rich(const status& s) {
  EXPECT_EQ(s.code(), status_code::invalid_argument);
  EXPECT_EQ(s.message(), "a title is needed");
  const auto info = find_detail<error_info>(s);
  ASSERT_TRUE(info);
  EXPECT_EQ(info->reason(), "NO_TITLE");
  EXPECT_EQ(info->domain(), "movies.example");
  EXPECT_EQ(info->find("where"), "here");
  EXPECT_EQ(info->find("empty"), "");
  EXPECT_EQ(info->find("none"), std::nullopt);
  const auto bad = find_detail<bad_request>(s);
  ASSERT_TRUE(bad);
  ASSERT_EQ(bad->violations().size(), 2u);
  EXPECT_EQ(bad->violations()[1].first, "movie.year");
  const auto wait = find_detail<retry_info>(s);
  ASSERT_TRUE(wait);
  EXPECT_EQ(wait->delay(), duration(1500ms));
}

TEST(rich_errors, OthersReadWhatWeWrite) {
  ::google::rpc::Status theirs;
  ASSERT_TRUE(theirs.ParseFromString(std::string(rich().details())));
  EXPECT_EQ(theirs.code(), 3);
  EXPECT_EQ(theirs.message(), "a title is needed");
  ASSERT_EQ(theirs.details_size(), 3);
  EXPECT_EQ(theirs.details(0).type_url(), "type.googleapis.com/google.rpc.ErrorInfo");
  ::google::rpc::ErrorInfo info;
  ASSERT_TRUE(theirs.details(0).UnpackTo(&info));
  EXPECT_EQ(info.metadata().at("where"), "here");
  EXPECT_EQ(info.metadata().at("empty"), "");
  ::google::rpc::BadRequest bad;
  ASSERT_TRUE(theirs.details(1).UnpackTo(&bad));
  EXPECT_EQ(bad.field_violations(0).field(), "movie.title");
  ::google::rpc::RetryInfo retry;
  ASSERT_TRUE(theirs.details(2).UnpackTo(&retry));
  EXPECT_EQ(retry.retry_delay().seconds(), 1);
  EXPECT_EQ(retry.retry_delay().nanos(), 500'000'000);
}

TEST(rich_errors, WeReadWhatOthersWrite) {
  ::google::rpc::Status theirs;
  theirs.set_code(3);
  theirs.set_message("a title is needed");
  ::google::rpc::ErrorInfo info;
  info.set_reason("NO_TITLE");
  info.set_domain("movies.example");
  (*info.mutable_metadata())["where"] = "here";
  (*info.mutable_metadata())["empty"] = "";
  EXPECT_TRUE(theirs.add_details()->PackFrom(info));
  ::google::rpc::BadRequest bad;
  for (const char* field : {"movie.title", "movie.year"}) {
    auto& one = *bad.add_field_violations();
    one.set_field(field);
    one.set_reason("a field that we do not know");
    one.mutable_localized_message()->set_locale("de");
  }
  EXPECT_TRUE(theirs.add_details()->PackFrom(bad, "example.org/any/prefix"));
  ::google::rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_seconds(1);
  retry.mutable_retry_delay()->set_nanos(500'000'000);
  EXPECT_TRUE(theirs.add_details()->PackFrom(retry));
  expect_rich(status(status_code::invalid_argument, "a title is needed", theirs.SerializeAsString()));
}

TEST(rich_errors, AnyMessageIsADetail) {
  ::google::rpc::ErrorInfo info;
  info.set_reason("R");
  echo::Text own;
  own.set_text("mine");
  const status s = with_details(with_details(status::aborted("x"), info), own);
  EXPECT_EQ(find_detail<error_info>(s)->reason(), "R");
  EXPECT_EQ(find_detail<::google::rpc::ErrorInfo>(s)->reason(), "R");
  EXPECT_EQ(find_detail<echo::Text>(s)->text(), "mine");
  EXPECT_FALSE(find_detail<retry_info>(s));
  EXPECT_FALSE(find_detail<echo::Text>(status::aborted("x")));
}

TEST(rich_errors, WhatIsMalformedIsNone) {
  const std::string good(rich().details());
  for (std::size_t n = 0; n < good.size(); ++n) {
    const status cut(status_code::aborted, "", good.substr(0, n));
    static_cast<void>(find_detail<error_info>(cut));
    static_cast<void>(find_detail<bad_request>(cut));
    EXPECT_FALSE(find_detail<retry_info>(cut)) << n;  // it is the last
  }
  EXPECT_FALSE(find_detail<error_info>(status(status_code::aborted, "", "no such thing")));
  ::google::rpc::RetryInfo huge;
  huge.mutable_retry_delay()->set_seconds(std::numeric_limits<std::int64_t>::max());
  EXPECT_GT(find_detail<retry_info>(with_details(status::aborted(), huge))->delay(), duration(24h));
}

TEST(rich_errors_misuse, OfAnOkThereAreNone) {
  test::expect_misuse([] { static_cast<void>(with_details(status(), retry_info(1s))); },
                      "details require an error; use trailing metadata");
}

class rich_errors_of_calls : public echo_fixture {};
INSTANTIATE_TEST_SUITE_P(Everywhere, rich_errors_of_calls, every_world_over_tcp, echo_fixture::case_name);

TEST_P(rich_errors_of_calls, ArriveAsTheyWereMade) {
  struct picky final : echo_service {
    reply<echo::Text> SayAtOnce(server_context&, const echo::Text&) override { return rich(); }
  };
  picky handler;
  server_.emplace(rt());
  server_->add(handler);
  link();
  const auto reply = sync_wait(stub().SayAtOnce(text("")));
  expect_rich(reply.status());
  EXPECT_EQ(reply.status(), rich());
  channel_.reset();
  server_.reset();  // before its service
}

}  // namespace
}  // namespace coracle::testing_support::rich_error_test
