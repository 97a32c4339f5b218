// Everything that a client needs beside its generated header.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/client/channel.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/coro/stop_on.hpp"
#include "coracle/coro/timeout.hpp"
#include "coracle/coro/when_all.hpp"
#include "coracle/rpc/stub.hpp"
#include "coracle/rpc/sync_wait.hpp"
#include "coracle/runtime/runtime.hpp"
#include "coracle/runtime/sync_wait.hpp"
