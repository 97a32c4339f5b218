#include "net/inherited_sockets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace coracle::net::inherited_sockets_test {
namespace {

using testing::HasSubstr;
using variable = std::optional<std::string>;

result<std::vector<inherited_socket>> ask(const variable& process, const variable& count,
                                          const variable& names, std::string_view name = "") {
  return inherited_sockets({12, process, count, names}, name);
}

std::vector<std::string> found(const result<std::vector<inherited_socket>>& r) {
  std::vector<std::string> texts;
  for (const inherited_socket& s : r.value()) texts.push_back(std::to_string(s.descriptor) + s.name);
  return texts;
}

TEST(InheritedSockets, AreNumberedFromThreeOn) {
  EXPECT_THAT(found(ask("12", "2", "web:grpc")), testing::ElementsAre("3web", "4grpc"));
  EXPECT_THAT(found(ask("12", "1", "")), testing::ElementsAre("3"));
}

TEST(InheritedSockets, WithoutNamesAreUnknown) {
  EXPECT_THAT(found(ask("12", "2", std::nullopt)), testing::ElementsAre("3unknown", "4unknown"));
}

TEST(InheritedSockets, SeveralMayHaveOneName) {
  EXPECT_THAT(found(ask("12", "3", "grpc:web:grpc", "grpc")), testing::ElementsAre("3grpc", "5grpc"));
}

TEST(InheritedSockets, AnUnknownNameIsToldTheOthers) {
  const status reason = ask("12", "2", "a:b", "c").status();
  EXPECT_EQ(reason.code(), status_code::not_found);
  EXPECT_THAT(reason.to_string(), HasSubstr("no socket named 'c', only 'a', 'b'"));
}

TEST(InheritedSockets, AreForTheProcessThatIsNamed) {
  for (const variable& process : {variable("13"), variable(""), variable("12 "), variable()}) {
    const status reason = ask(process, "1", "a").status();
    EXPECT_EQ(reason.code(), status_code::failed_precondition);
    EXPECT_THAT(reason.to_string(), HasSubstr("and this is process 12"));
  }
}

TEST(InheritedSockets, AreMissedWhereThereAreNone) {
  for (const variable& count : {variable(), variable("")})
    EXPECT_EQ(ask("12", count, "a").status().code(), status_code::failed_precondition);
}

TEST(InheritedSockets, ACountThatIsNoneIsRefused) {
  for (const char* count : {"0", "-1", "x", "3x", "99999999999"})
    EXPECT_EQ(ask("12", count, "a").status().code(), status_code::invalid_argument) << count;
}

TEST(InheritedSockets, AreNotThoseThatAnEarlierProcessHasLeft) {
  EXPECT_THAT(found(ask("12", "3", "coracle|/a|b:grpc:coracle|/a|c")), testing::ElementsAre("4grpc"));
  EXPECT_EQ(ask("12", "2", "coracle|/a|b:grpc", "coracle|/a|b").status().code(), status_code::not_found);
  const status reason = ask("12", "1", "coracle|/a|b").status();
  EXPECT_EQ(reason.code(), status_code::failed_precondition);
  EXPECT_THAT(reason.to_string(), HasSubstr("FDSTORE=1"));
  EXPECT_THAT(found(stored_inheritance({12, "12", "3", "coracle|/a|b:grpc:coracle|/a|c"})),
              testing::ElementsAre("3coracle|/a|b", "5coracle|/a|c"));
  EXPECT_THAT(stored_inheritance({12, "13", "1", "coracle|/a|b"}), testing::IsEmpty());
}

TEST(InheritedSockets, AsManyNamesAsSocketsOrNone) {
  EXPECT_EQ(ask("12", "2", "a").status().code(), status_code::invalid_argument);
  EXPECT_EQ(ask("12", "1", "a:b").status().code(), status_code::invalid_argument);
}

}  // namespace
}  // namespace coracle::net::inherited_sockets_test
