// Everything that a client needs beside its generated header.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/client/channel.hpp"
#include "coracle/client/client_interceptor.hpp"
#include "coracle/client/generic_stub.hpp"
#include "coracle/client/stub.hpp"
#include "coracle/client/sync_wait.hpp"
#include "coracle/client/then.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/coro/stop_on.hpp"
#include "coracle/coro/when_all.hpp"
#include "coracle/coro/with_timeout.hpp"
#include "coracle/rpc/status_details.hpp"
#include "coracle/runtime/runtime.hpp"
#include "coracle/runtime/sync_wait.hpp"
#include "coracle/security/insecure.hpp"
