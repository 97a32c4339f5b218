// Everything that a server needs beside its generated header.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/coro/stop_on.hpp"
#include "coracle/coro/timeout.hpp"
#include "coracle/coro/when_all.hpp"
#include "coracle/rpc/service.hpp"
#include "coracle/runtime/offload.hpp"
#include "coracle/runtime/runtime.hpp"
#include "coracle/server/server.hpp"
#include "coracle/services/defaults.hpp"
