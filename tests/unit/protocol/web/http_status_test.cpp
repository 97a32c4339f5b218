#include "protocol/web/http_status.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>

namespace coracle::protocol::web::http_status_test {
namespace {

TEST(HttpStatus, OfEachCodeFollowsTheTable) {
  constexpr std::array<int, 17> table{200, 499, 500, 400, 504, 404, 409, 403, 429,
                                      400, 409, 400, 501, 500, 503, 500, 401};
  for (std::size_t i = 0; i < table.size(); ++i)
    EXPECT_EQ(to_http_status(static_cast<status_code>(i)), table[i]) << i;
}

TEST(HttpStatus, OfANumberThatIsNoCodeIsAnError) {
  EXPECT_EQ(to_http_status(static_cast<status_code>(17)), 500);
}

}  // namespace
}  // namespace coracle::protocol::web::http_status_test
