// For tests of services and of their clients: fixtures without ports, a simulated clock, fakes of methods.
#pragma once

#include "coracle/testing/fake_method.hpp"
#include "coracle/testing/service_fixture.hpp"
#include "coracle/testing/simulated_fixture.hpp"
