#include "protocol/grpc/fitted_status.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

namespace coracle::protocol::grpc::fitted_status_test {
namespace {

constexpr std::size_t limit = 8192;

TEST(FittedStatus, IsWholeIfItFits) {
  const status s(status_code::not_found, "a message", "details");
  const fitted_status f = fit_status(s, 1000, 256, limit);
  EXPECT_EQ(f.outcome, s);
  EXPECT_TRUE(f.metadata);
  EXPECT_EQ(f.left_out, "");
}

TEST(FittedStatus, LosesThePartOfTheMessageThatDoesNotFitFirst) {
  const fitted_status f = fit_status(
      status(status_code::not_found, std::string(20'000, 'x'), std::string(600, 'd')), 1000, 256, limit);
  EXPECT_EQ(f.outcome.code(), status_code::not_found);
  EXPECT_EQ(f.outcome.details(), std::string(600, 'd'));
  EXPECT_TRUE(f.metadata);
  EXPECT_EQ(f.left_out, "a part of the message");
  EXPECT_TRUE(f.outcome.message().ends_with("xx (shortened)"));
  EXPECT_GT(f.outcome.message().size(), 5000u);
  EXPECT_LE(f.outcome.message().size() + 800 + 1000 + 256, limit);
}

TEST(FittedStatus, LosesItsDetailsNextAndThenTheMetadata) {
  const std::string message(20'000, 'x');
  const fitted_status without_details =
      fit_status(status(status_code::aborted, message, std::string(8000, 'd')), 1000, 256, limit);
  EXPECT_EQ(without_details.outcome.details(), "");
  EXPECT_TRUE(without_details.metadata);
  EXPECT_EQ(without_details.left_out, "a part of the message, the details");
  const fitted_status without_both =
      fit_status(status(status_code::aborted, message, std::string(8000, 'd')), 9000, 256, limit);
  EXPECT_FALSE(without_both.metadata);
  EXPECT_EQ(without_both.left_out, "a part of the message, the details, the trailing metadata");
  EXPECT_GT(without_both.outcome.message().size(), 7000u);
}

TEST(FittedStatus, KeepsTheDetailsIfOnlyTheMetadataIsTooLarge) {
  const status s(status_code::aborted, "a message", "details");
  const fitted_status f = fit_status(s, 9000, 256, limit);
  EXPECT_EQ(f.outcome, s);
  EXPECT_EQ(f.left_out, "the trailing metadata");
}

TEST(FittedStatus, OfASmallMessageKeepsIt) {
  const fitted_status f = fit_status(status(status_code::aborted, "a message"), 9000, 256, limit);
  EXPECT_EQ(f.outcome.message(), "a message");
  EXPECT_EQ(f.left_out, "the trailing metadata");
  const fitted_status ok = fit_status(status(), 9000, 256, limit);
  EXPECT_TRUE(ok.outcome.ok());
  EXPECT_FALSE(ok.metadata);
}

TEST(FittedStatus, IsCutBetweenCharacters) {
  std::string message;
  while (message.size() < 9000) message += "\xe2\x82\xac";
  for (std::size_t bytes = 1200; bytes < 1230; ++bytes) {
    const std::string cut(fit_status(status(status_code::unknown, message), 0, 0, bytes).outcome.message());
    ASSERT_TRUE(cut.ends_with("\xe2\x82\xac (shortened)")) << bytes;
    EXPECT_EQ((cut.size() - std::string(" (shortened)").size()) % 3, 0u) << bytes;
  }
}

TEST(FittedStatus, IsItsCodeAloneUnderATinyLimit) {
  for (const std::size_t bytes : {0u, 1u, 100u}) {
    const fitted_status f = fit_status(status(status_code::aborted, "a message", "details"), 10, 256, bytes);
    EXPECT_EQ(f.outcome, status(status_code::aborted, "")) << bytes;
    EXPECT_FALSE(f.metadata);
  }
}

TEST(FittedStatus, HasABoundThatIsComputedWithoutEncoding) {
  const status s(status_code::resource_exhausted, std::string(100, '%'), std::string(100, 'd'));
  const std::size_t exact = list_bytes("grpc-status", "8") +
                            list_bytes("grpc-message", std::string(300, 'x')) +
                            list_bytes("grpc-status-details-bin", std::string(136, 'x'));
  EXPECT_LE(exact, list_bytes_at_most(s));
}

}  // namespace
}  // namespace coracle::protocol::grpc::fitted_status_test
