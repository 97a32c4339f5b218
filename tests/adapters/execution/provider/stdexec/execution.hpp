// A small provider of senders with stdexec's names, so that the tests compile and run without stdexec: the
// part of P2300 that they use.
#pragma once

#include "algorithms.hpp"
#include "core.hpp"
#include "stop_token.hpp"
