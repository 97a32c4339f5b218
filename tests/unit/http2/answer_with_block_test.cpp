// Responses of one header block that are sent together with the release of their stream, as those of rejected
// calls: what has arrived of the request is dropped, and a stream that has not ended is reset.
#include "support/http2/frames.hpp"
#include "support/http2/transcript.hpp"

#include <gtest/gtest.h>
#include <array>
#include <string>

namespace coracle::http2::answer_with_block_test {
namespace {

using namespace test;
using namespace test::frames;

const std::string status_block = block({{":status", "200"}});
const std::string outcome_block = block({{"grpc-status", "14"}});

bool answer(session& at, stream_ref s) {
  const std::array<bytes_view, 3> pieces{as_bytes(status_block), bytes_view(), as_bytes(outcome_block)};
  return at.engine.answer_with_block(s, pieces);
}

// Answers each request as soon as its headers have been read.
struct server {
  explicit server(const limits& l = {})
      : s(role::server, l, [this](session& at, const event& e) {
          if (e.type == event::kind::headers && !e.trailers) answered += answer(at, e.stream);
        }) {
    s.feed(from_client());
    s.take_frames();
  }
  session s;
  int answered = 0;
};

std::string answer_to(stream_id id) {
  server alone;
  alone.s.feed(request(id, end_both));
  return alone.s.take_frames();
}

TEST(Http2AnswerWithBlock, IsWhatItsStepsAre) {
  const auto keeps_quiet = [](session&, const event&) {};
  session steps(role::server, limits(), keeps_quiet);
  steps.feed(from_client());
  steps.take_frames();
  steps.feed(request(1, end_both));
  ASSERT_TRUE(steps.engine.send_block(steps.stream(), as_bytes(status_block + outcome_block), true));
  steps.engine.release(steps.stream());
  EXPECT_EQ(answer_to(1), steps.take_frames());
  EXPECT_EQ(steps.engine.open_streams(), 0u);
}

TEST(Http2AnswerWithBlock, DropsTheContentThatHasArrived) {
  server at;
  at.s.feed(request(1) + data(1, "abc", end));
  EXPECT_EQ(at.answered, 1);
  EXPECT_EQ(at.s.take_frames(), answer_to(1)) << "the stream has ended on both sides";
  EXPECT_EQ(at.s.events().find("data"), std::string::npos) << at.s.events();
  EXPECT_EQ(at.s.engine.open_streams(), 0u);
  EXPECT_EQ(at.s.engine.user_of(at.s.stream()), nullptr);
}

TEST(Http2AnswerWithBlock, AsksTheClientToStopIfMoreIsToCome) {
  for (const std::string& rest : {std::string(), data(1, "abc"), data(1, "abc", end).substr(0, 10)}) {
    server at;
    at.s.feed(request(1) + rest);
    EXPECT_EQ(at.s.take_frames(), answer_to(1) + "RST_STREAM 1 NO_ERROR\n") << rest.size();
    EXPECT_EQ(at.s.engine.open_streams(), 0u);
  }
}

TEST(Http2AnswerWithBlock, ReadsTheNextRequestBehindTheContent) {
  server at;
  at.s.feed(request(1) + data(1, "abc", end) + request(3) + data(3, "abc", end));
  EXPECT_EQ(at.answered, 2);
  EXPECT_EQ(at.s.take_frames(), answer_to(1) + answer_to(3));
}

// The credit of the connection belongs to all of its streams.
TEST(Http2AnswerWithBlock, ReturnsTheCreditOfTheContent) {
  limits l;
  l.connection_window_bytes = 65'535;
  server at(l);
  std::string frames;
  for (stream_id id = 1; id < 21; id += 2) {
    at.s.feed(request(id) + data(id, std::string(16'000, 'x'), end));
    frames += at.s.take_frames();
  }
  EXPECT_EQ(at.answered, 10);
  EXPECT_NE(frames.find("WINDOW_UPDATE 0"), std::string::npos) << frames;
  EXPECT_FALSE(at.s.engine.failed());
}

TEST(Http2AnswerWithBlock, DropsContentThatContradictsItsLengthUnread) {
  server at;
  at.s.feed(headers(1, request_block() + block({{"content-length", "4"}})) + data(1, "abc", end));
  EXPECT_EQ(at.s.take_frames(), answer_to(1) + "RST_STREAM 1 NO_ERROR\n") << "it is not read any more";
}

TEST(Http2AnswerWithBlock, IsNotForStreamsThatHaveBegunOrEnded) {
  const auto keeps_quiet = [](session&, const event&) {};
  session at(role::server, limits(), keeps_quiet);
  at.feed(from_client());
  at.feed(request(1) + request(3));
  at.take_frames();
  ASSERT_TRUE(at.respond(at.stream(0), false));
  EXPECT_FALSE(answer(at, at.stream(0)));
  at.engine.reset(at.stream(1), error_code::cancel);
  EXPECT_FALSE(answer(at, at.stream(1)));
  EXPECT_EQ(at.take_frames().find("END_STREAM"), std::string::npos);
}

// The table is updated all the same, and the content is not looked for in the middle of the headers.
TEST(Http2AnswerWithBlock, DoesNotWaitForFieldsThatAreUnread) {
  server at;
  at.s.pulls_fields = false;
  at.s.feed(request(1) + data(1, "abc", end));
  EXPECT_EQ(at.s.take_frames(), answer_to(1) + "RST_STREAM 1 NO_ERROR\n");
  at.s.pulls_fields = true;
  at.s.feed(request(3, end_both));
  EXPECT_EQ(at.answered, 2);
  EXPECT_NE(at.s.events().find(":path=/a.B/C"), std::string::npos) << at.s.events();
}

TEST(Http2AnswerWithBlock, GivesNoCreditBackThatIsWithheld) {
  limits l;
  l.connection_window_bytes = 65'535;
  server at(l);
  at.s.engine.withhold_credit(true);
  for (stream_id id = 1; id < 9; id += 2) at.s.feed(request(id) + data(id, std::string(16'000, 'x'), end));
  EXPECT_EQ(at.s.take_frames().find("WINDOW_UPDATE 0"), std::string::npos);
  at.s.engine.withhold_credit(false);
  EXPECT_NE(at.s.take_frames().find("WINDOW_UPDATE 0"), std::string::npos);
}

TEST(Http2AnswerWithBlock, LetsASizeUpdateOfTheTableGoFirst) {
  const auto keeps_quiet = [](session&, const event&) {};
  session at(role::server, limits(), keeps_quiet);
  at.feed(std::string(client_preface) + settings({{1, 0}}) + request(1, end_both));
  at.take_frames();
  EXPECT_FALSE(answer(at, at.stream()));
  ASSERT_TRUE(at.engine.send_block(at.stream(), as_bytes(status_block), true));
}

TEST(Http2AnswerWithBlock, IsForBlocksOfOneFrame) {
  const auto keeps_quiet = [](session&, const event&) {};
  session at(role::server, limits(), keeps_quiet);
  at.feed(from_client());
  at.feed(request(1));
  at.take_frames();
  const std::string large(std::size_t{frame_bytes_min_max} + 1, 'x');
  const std::array<bytes_view, 1> pieces{as_bytes(large)};
  EXPECT_FALSE(at.engine.answer_with_block(at.stream(), pieces));
  EXPECT_EQ(at.take_frames(), "");
}

}  // namespace
}  // namespace coracle::http2::answer_with_block_test
