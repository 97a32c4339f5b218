// reply_comparison: whether a reply has the fields of a recorded one.
#pragma once

#include "tools/schema/session.hpp"

#include <set>
#include <string>
#include <vector>

namespace coracle::tools {

// By the definitions of the methods, so that the order in which a server writes fields and maps does not
// count; in bytes where the definitions are not available. It may wait for reflection, so it is not used on
// a loop.
class reply_comparison {
 public:
  // `ignored` has names of fields: "id", "movieId", or "movie.Movie.id" and the last parts of it. `at` must
  // outlive this object.
  reply_comparison(session& at, const std::vector<std::string>& ignored)
      : at_(at), ignored_(ignored), unused_(ignored.begin(), ignored.end()) {}

  // Returns one line for each difference; empty if there is none.
  [[nodiscard]] std::string differences(const std::string& path, const std::string& recorded,
                                        const std::string& received);

  // The methods whose replies were compared in bytes.
  [[nodiscard]] const std::set<std::string>& in_bytes() const noexcept { return in_bytes_; }
  // The ignored names that no reply had.
  [[nodiscard]] const std::set<std::string>& unused() const noexcept { return unused_; }

 private:
  class ignored_fields;
  [[nodiscard]] const google::protobuf::MethodDescriptor* definition_of(const std::string& path);

  session& at_;
  const std::vector<std::string>& ignored_;
  std::set<std::string> unused_, in_bytes_;
};

}  // namespace coracle::tools
