// TimePoint: what a deadline may be given as.
#pragma once

#include <grpc/support/time.h>
#include <grpcpp/impl/one_library.h>

#include <chrono>

namespace grpc {

/// Specialize it for a type of one's own: a constructor from T, and raw_time().
template <typename T>
class TimePoint {
 public:
  explicit TimePoint(const T&) {
    static_assert(!internal::is_missing<T>,
                  "a deadline is a gpr_timespec, a std::chrono::system_clock::time_point, or of a type that "
                  "grpc::TimePoint is specialized for");
  }
  gpr_timespec raw_time() { return {}; }
};

template <>
class TimePoint<gpr_timespec> {
 public:
  TimePoint(const gpr_timespec& time) : time_(time) {}  // NOLINT(google-explicit-constructor)
  gpr_timespec raw_time() { return time_; }

 private:
  gpr_timespec time_;
};

/// Converts between the two kinds of time. The far future is time_point::max().
void Timepoint2Timespec(const std::chrono::system_clock::time_point& from, gpr_timespec* to);
void TimepointHR2Timespec(const std::chrono::high_resolution_clock::time_point& from, gpr_timespec* to);
std::chrono::system_clock::time_point Timespec2Timepoint(gpr_timespec t);

template <>
class TimePoint<std::chrono::system_clock::time_point> {
 public:
  TimePoint(const std::chrono::system_clock::time_point& time) {  // NOLINT(google-explicit-constructor)
    Timepoint2Timespec(time, &time_);
  }
  gpr_timespec raw_time() const { return time_; }

 private:
  gpr_timespec time_;
};

}  // namespace grpc
