// The calls of servers and channels in the metrics and traces of a program that uses opentelemetry-cpp.
//
// Requires the API of opentelemetry-cpp, which is headers alone; tested with 1.19. Other programs have
// coracle::telemetry, which needs no other library.
#pragma once

#include "coracle/opentelemetry/bridge.hpp"
#include "coracle/opentelemetry/buckets.hpp"
#include "coracle/opentelemetry/trace_bin_propagator.hpp"
#include "coracle/opentelemetry/trace_contexts.hpp"
