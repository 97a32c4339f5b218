// with_defaults(): adds the services that most servers should have.
#pragma once

#include "coracle/services/health_service.hpp"

namespace coracle {

class server;

/// Adds health, reflection (v1 and v1alpha) and channelz, which live as long as the server. Call it before
/// the first listen(). Returns the health service, which also lives as long as the server, to report more
/// than that the server is serving:
///
///   coracle::health_service& health = coracle::with_defaults(server);
///
/// To every client that can connect and that no interceptor rejects, reflection reveals every .proto whose
/// C++ is linked into the program, served or not, and channelz reveals who else is connected. On a port that
/// untrusted clients can reach, add those of the three services that you want yourself.
health_service& with_defaults(server& to);

}  // namespace coracle
