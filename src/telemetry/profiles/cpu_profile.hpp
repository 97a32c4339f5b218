// cpu_profile: takes a CPU profile of the process.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/result.hpp"
#include "coracle/coro/stop_token.hpp"
#include "coracle/coro/task.hpp"
#include "runtime/cpu_sampler.hpp"
#include "telemetry/profiles/encode_profile.hpp"

#include <string>

namespace coracle::telemetry_internal {

// Returns the profile that the samples are. A stack has two values: the number of its samples, and the CPU
// time that they stand for.
profile_content content_of(const runtime_internal::cpu_samples& samples, const profile_times& times);

// Samples all threads for `wanted`, or until `drains`, and returns the profile in pprof's format, compressed
// with gzip. The wait is a timer; all else is done on a thread for blocking work. Fails as
// cpu_sampler::start() does. If the awaiter's environment is stopped, the profile ends and is dropped.
task<result<std::string>> take_cpu_profile(duration wanted, coro::stop_token drains);

}  // namespace coracle::telemetry_internal
