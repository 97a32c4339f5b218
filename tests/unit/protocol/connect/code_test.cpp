#include "protocol/connect/code.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace coracle::protocol::connect::code_test {
namespace {

TEST(ConnectCode, HasANameForEachCodeButOk) {
  for (int i = 1; i <= 16; ++i) {
    const auto code = static_cast<status_code>(i);
    EXPECT_FALSE(code_name(code).empty()) << i;
    EXPECT_EQ(code_named(code_name(code)), code);
  }
  EXPECT_EQ(code_name(status_code::cancelled), "canceled");
  EXPECT_EQ(code_name(status_code::deadline_exceeded), "deadline_exceeded");
  EXPECT_EQ(code_name(status_code::unauthenticated), "unauthenticated");
  EXPECT_EQ(code_name(status_code::ok), "");
  EXPECT_EQ(code_name(static_cast<status_code>(17)), "unknown");
}

TEST(ConnectCode, IsNoOtherText) {
  for (const std::string_view name : {"", "ok", "cancelled", "CANCELED", "not found", "foobar", "1"})
    EXPECT_EQ(code_named(name), std::nullopt) << name;
}

TEST(ConnectCode, OfAResponseWithoutOneFollowsItsHttpStatus) {
  for (const auto& [http_status, code] : {std::pair{400, status_code::internal},
                                          {401, status_code::unauthenticated},
                                          {403, status_code::permission_denied},
                                          {404, status_code::unimplemented},
                                          {429, status_code::unavailable},
                                          {502, status_code::unavailable},
                                          {503, status_code::unavailable},
                                          {504, status_code::unavailable},
                                          {200, status_code::unknown},
                                          {304, status_code::unknown},
                                          {405, status_code::unknown},
                                          {409, status_code::unknown},
                                          {415, status_code::unknown},
                                          {500, status_code::unknown},
                                          {501, status_code::unknown}})
    EXPECT_EQ(code_from_http_status(http_status), code) << http_status;
}

}  // namespace
}  // namespace coracle::protocol::connect::code_test
