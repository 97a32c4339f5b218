// The buckets of gRFC A66, for the views of a MeterProvider.
#pragma once

#include <array>

namespace coracle {

/// The upper bounds of the buckets of durations, in seconds. Without a view, opentelemetry-cpp has bounds of
/// its own, 5 s and more: nearly all calls are in the first bucket.
inline constexpr std::array<double, 41> opentelemetry_latency_buckets = {
    0,    0.00001, 0.00005, 0.0001, 0.0003, 0.0006, 0.0008, 0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.008,
    0.01, 0.013,   0.016,   0.02,   0.025,  0.03,   0.04,   0.05,  0.065, 0.08,  0.1,   0.13,  0.16,  0.2,
    0.25, 0.3,     0.4,     0.5,    0.65,   0.8,    1,      2,     5,     10,    20,    50,    100};

/// The same for sizes of messages, in bytes.
inline constexpr std::array<double, 14> opentelemetry_size_buckets = {
    0,       1024,    2048,     4096,     16384,     65536,      262144,
    1048576, 4194304, 16777216, 67108864, 268435456, 1073741824, 4294967296};

}  // namespace coracle
